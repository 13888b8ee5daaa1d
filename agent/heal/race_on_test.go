//go:build race

package heal

const raceEnabled = true
