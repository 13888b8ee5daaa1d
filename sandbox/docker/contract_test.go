package docker

import (
	"fmt"
	"os"
	"testing"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/contract"
)

// podmanEnv tells a killed workbench where Podman answers.
const podmanEnv = "KINTSUGI_TEST_PODMAN"

func TestMain(m *testing.M) {
	contract.Victim(func(state string) (sandbox.Runtime, error) {
		if host := os.Getenv(podmanEnv); host != "" {
			return New(Options{Engine: Podman, Host: host, Image: testImage, StateDir: state}), nil
		}
		return freshDocker(state)
	})
	undo, err := buildKeeper()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	undo()
	os.Exit(code)
}

func TestDocker(t *testing.T) {
	needDocker(t)
	rt, err := freshDocker(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	giveImage(t, rt.(*Runtime))
	contract.Run(t, contract.Subject{Open: freshDocker, Patience: 20 * time.Second})
}

func TestPodman(t *testing.T) {
	needPodman(t)
	served := New(Options{Engine: Podman, Image: testImage, StateDir: t.TempDir()})
	t.Cleanup(func() { served.Close() })
	giveImage(t, served)
	host := served.host()
	contract.Run(t, contract.Subject{
		Open: func(state string) (sandbox.Runtime, error) {
			return New(Options{Engine: Podman, Host: host, Image: testImage, StateDir: state}), nil
		},
		Patience: 20 * time.Second,
		Environ:  []string{podmanEnv + "=" + host},
		Without: map[string]string{
			"odd names": "Podman's interface cannot name a folder with a comma or a colon",
		},
	})
}
