package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/hashicorp/yamux"

	"kintsugi/sandbox/docker/keeper"
)

// vessel is a started container whose keeper waits for its order.
type vessel struct {
	runtime *Runtime
	id      string // the engine's
	name    string
	session *yamux.Session
	words   *tail // what the keeper says beside the connection
	once    sync.Once
	gone    chan struct{} // closed when the container is removed
}

// launch makes and starts a container.
func (r *Runtime) launch(ctx context.Context, s shape) (*vessel, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	api, err := r.api()
	if err != nil {
		return nil, err
	}
	v := &vessel{runtime: r, words: &tail{}, gone: make(chan struct{})}
	if err := v.create(ctx, s); err != nil {
		return nil, err
	}
	attached, err := api.ContainerAttach(ctx, v.id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err == nil {
		err = api.ContainerStart(ctx, v.id, container.StartOptions{})
	}
	if err == nil {
		v.session, err = yamux.Client(newWire(attached, v.words), keeper.Session())
	}
	if err == nil {
		err = v.greet(ctx)
	}
	if err != nil {
		v.end()
		return nil, err
	}
	return v, nil
}

// create makes the container under a name that nobody has.
func (v *vessel) create(ctx context.Context, s shape) error {
	api, err := v.runtime.api()
	if err != nil {
		return err
	}
	lease, err := v.runtime.lease()
	if err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	config, host := s.config, s.host
	config.Labels = lease.labels()
	if len(config.Cmd) > 0 && config.Cmd[0] == anyUID {
		config.Cmd = slices.Clone(config.Cmd)
		config.Cmd[0] = strconv.Itoa(firstUID + rand.IntN(manyUIDs))
	}
	for range 3 {
		v.name = "kintsugi-" + random()
		var made container.CreateResponse
		made, err = api.ContainerCreate(ctx, &config, &host, nil, nil, v.name)
		if err == nil {
			v.id = made.ID
			return nil
		}
		if !conflict(err) {
			break
		}
	}
	return err
}

// greet waits for the keeper's first answer.
func (v *vessel) greet(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() {
		_, err := v.session.Ping()
		answer <- err
	}()
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("the container ended at once: %s", v.last(err))
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (v *vessel) last(err error) string {
	if line := v.words.line(); line != "" {
		return line
	}
	return err.Error()
}

// end removes the container with all its processes. It returns at once;
// gone tells when it is done.
func (v *vessel) end() {
	v.once.Do(func() {
		if v.session != nil {
			_ = v.session.Close()
		}
		v.runtime.endings.Go(func() {
			defer close(v.gone)
			if v.id == "" {
				return
			}
			api, err := v.runtime.api()
			if err != nil {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			_ = remove(ctx, api, v.id)
		})
	})
}

// wire is an attached container as one connection: what the keeper writes
// comes in frames, each with its stream's number and length in front.
type wire struct {
	attached types.HijackedResponse
	words    io.Writer
	left     int
}

func newWire(a types.HijackedResponse, words io.Writer) *wire {
	return &wire{attached: a, words: words}
}

func (w *wire) Write(p []byte) (int, error) { return w.attached.Conn.Write(p) }

func (w *wire) Close() error {
	w.attached.Close()
	return nil
}

// The number of the error stream in frames.
const errorStream = 2

func (w *wire) Read(p []byte) (int, error) {
	for w.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(w.attached.Reader, head[:]); err != nil {
			return 0, ended(err)
		}
		size := int(binary.BigEndian.Uint32(head[4:]))
		if head[0] != errorStream {
			w.left = size
			continue
		}
		if _, err := io.CopyN(w.words, w.attached.Reader, int64(size)); err != nil {
			return 0, ended(err)
		}
	}
	n, err := w.attached.Reader.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

// ended makes every end of the connection the same.
func ended(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return io.EOF
	}
	return err
}
