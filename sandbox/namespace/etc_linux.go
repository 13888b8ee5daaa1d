package namespace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"kintsugi/sandbox"
)

// etcFiles are the files of /etc that a box has of its own, laid over the
// host's.
func (h *host) etcFiles(network sandbox.Network) map[string]string {
	files := map[string]string{
		"hostname":      "kintsugi\n",
		"hosts":         "127.0.0.1 localhost kintsugi\n::1 localhost ip6-localhost\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
		"passwd":        h.passwd(),
		"group":         h.group(),
		"resolv.conf":   "# A box without a network has no resolver.\n",
		"machine-id":    "00000000000000000000000000000001\n",
	}
	if network == sandbox.NetworkHost {
		if text, err := os.ReadFile("/etc/resolv.conf"); err == nil {
			files["resolv.conf"] = string(text)
		}
	}
	return files
}

func (h *host) passwd() string {
	text := fmt.Sprintf("root:x:0:0:root:%s:/bin/sh\n", h.home)
	if !h.privileged {
		text = fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\nbox:x:%d:%d:box:%s:/bin/sh\n", h.uid, h.gid, h.home)
	}
	return text + "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
}

func (h *host) group() string {
	text := "root:x:0:\n"
	if !h.privileged && h.gid != 0 {
		text += fmt.Sprintf("box:x:%d:\n", h.gid)
	}
	return text + "nogroup:x:65534:\n"
}

// etcDir returns a directory with the box's own files of /etc, writing it when
// no earlier box needed the same.
func (h *host) etcDir(network sandbox.Network) (string, error) {
	files := h.etcFiles(network)
	dir := filepath.Join(h.stateDir, "etc-"+digest(files))
	if isDir(dir) {
		return dir, nil
	}
	draft, err := os.MkdirTemp(h.stateDir, "etc-new-")
	if err != nil {
		return "", err
	}
	if err := writeFiles(draft, files); err != nil {
		os.RemoveAll(draft)
		return "", err
	}
	if err := os.Rename(draft, dir); err != nil {
		os.RemoveAll(draft)
		if !errors.Is(err, os.ErrExist) && !isDir(dir) {
			return "", err
		}
	}
	return dir, nil
}

func writeFiles(dir string, files map[string]string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func digest(files map[string]string) string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	sum := sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%s\x00%s\x00", name, files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}
