//go:build !unix

package docker

import "io/fs"

// trusted trusts the folders of this system: they have no owner to ask for.
func trusted(fs.FileInfo) bool { return true }
