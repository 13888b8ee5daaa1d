package abuse

import (
	"context"
	"fmt"
	"os"
	"time"

	"kintsugi/sandbox"
)

// VictimMain is the hidden command that a case kills: it runs one probe in a
// box of rt and waits for it. args are this program's path, the box's wall
// clock as a duration, and the arguments of the program in the box.
func VictimMain(rt sandbox.Runtime, args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: PROGRAM WALL ARGUMENT …")
		return 2
	}
	wall, err := time.ParseDuration(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	box, err := rt.Start(context.Background(), sandbox.Spec{
		Argv:   append([]string{"/kintsugi-probe"}, args[2:]...),
		Env:    sandbox.BaseEnv(os.Environ()),
		Mounts: []sandbox.Mount{{Source: args[0], Target: "/kintsugi-probe"}},
		Limits: sandbox.Limits{Wall: wall, Processes: 64, Memory: 256 << 20},
		// A probe that waits must do so whatever this process's own input is.
		Stdin: nil, Stdout: os.Stdout, Stderr: os.Stderr, BestEffort: true,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	res, err := box.Wait()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return res.ExitCode
}
