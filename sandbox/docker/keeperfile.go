package docker

import (
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// keeperEnv names a program that becomes a keeper, for hosts whose own
// Kintsugi cannot run in a Linux container.
const keeperEnv = "KINTSUGI_KEEPER"

// keeperPath is where a keeper lies in our images.
const keeperPath = "/.kintsugi/keeper"

// keeperFile is a program that becomes a keeper, and a word that changes when
// it does.
type keeperFile struct{ path, version string }

// machines are the names of processors: ours and those of program files.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "riscv64": elf.EM_RISCV, "ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390}

// findKeeper finds a keeper for an engine's processors: the one that was named,
// this program itself, one that lies beside it, or one built from the source
// that this program was built from.
func (o Options) findKeeper(arch string) (keeperFile, error) {
	if path := cmp.Or(o.Keeper, o.lookup(keeperEnv)); path != "" {
		return openKeeper(path, arch)
	}
	self, err := os.Executable()
	if err != nil {
		return keeperFile{}, err
	}
	var useless error
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		k, err := openKeeper(self, arch)
		if err == nil {
			return k, nil
		}
		useless = err
	}
	beside := filepath.Join(filepath.Dir(self), "kintsugi-linux-"+arch)
	if exists(beside) {
		return openKeeper(beside, arch)
	}
	if path, err := o.buildKeeper(self, arch); path != "" || err != nil {
		if err != nil {
			return keeperFile{}, err
		}
		return openKeeper(path, arch)
	}
	if useless != nil {
		return keeperFile{}, useless
	}
	return keeperFile{}, fmt.Errorf("boxes need the Linux (%s) build of Kintsugi: put it at %s, or name it in %s", arch, beside, keeperEnv)
}

// openKeeper looks at a program that is to be a keeper.
func openKeeper(path, arch string) (keeperFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return keeperFile{}, fmt.Errorf("the keeper of boxes: %w", err)
	}
	defer f.Close()
	version, err := inspectKeeper(f, arch)
	if err != nil {
		return keeperFile{}, fmt.Errorf("%s cannot be used inside a container: %w", path, err)
	}
	return keeperFile{path, version}, nil
}

// inspectKeeper wants a static program for arch, and gives its version: the
// build's own number, or a hash where there is none.
func inspectKeeper(f *os.File, arch string) (string, error) {
	program, err := elf.NewFile(f)
	if err != nil {
		return "", fmt.Errorf("it is no Linux program")
	}
	if program.Machine != machines[arch] {
		return "", fmt.Errorf("it is for other processors (%s) than the image (%s)", program.Machine, arch)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("it needs libraries of this system; build it with CGO_ENABLED=0")
		}
	}
	h := sha256.New()
	if s := program.Section(".note.go.buildid"); s != nil {
		if data, err := s.Data(); err == nil {
			h.Write(data)
			return hex.EncodeToString(h.Sum(nil)), nil
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
