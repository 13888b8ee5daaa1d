package image

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPins wants a name to stand for the same content until it is asked for
// anew, and an image to be there without a registry.
func TestPins(t *testing.T) {
	t.Parallel()
	server := serve(t)
	s := &Store{Dir: t.TempDir()}
	ref := push(t, server, image(t, layer(t, file("v", "1"))))
	first, err := s.Get(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	push(t, server, image(t, layer(t, file("v", "2"))))
	if again, err := s.Get(context.Background(), ref); err != nil || again.Digest != first.Digest {
		t.Errorf("the name moved to %s, %v", again.Digest, err)
	}
	fresh, err := s.Refresh(context.Background(), ref)
	if err != nil || fresh.Digest == first.Digest {
		t.Fatalf("anew: %+v, %v", fresh, err)
	}
	server.Close()
	for _, want := range []Root{first, fresh} {
		name := ref[:strings.LastIndexByte(ref, ':')] + "@" + want.Digest
		if got, err := s.Get(context.Background(), name); err != nil || got.Tree != want.Tree {
			t.Errorf("by digest, without a registry: %+v, %v", got, err)
		}
	}
	if list, err := s.List(); err != nil || len(list) != 2 || list[0].Bytes != 1 {
		t.Errorf("kept: %+v, %v", list, err)
	}
	if got, err := s.Get(context.Background(), ref); err != nil || got.Digest != fresh.Digest {
		t.Errorf("by name, without a registry: %+v, %v", got, err)
	}
}

func TestClearErrors(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{"no name": "no name of an image", "127.0.0.1:1/x:1": "cannot be fetched"} {
		_, err := (&Store{Dir: t.TempDir()}).Get(context.Background(), ref)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := (&Store{Dir: t.TempDir(), Offline: true}).Get(context.Background(), "127.0.0.1:1/x:1"); err == nil || !strings.Contains(err.Error(), "--offline") {
		t.Errorf("offline: %v", err)
	}
}

// tampering changes a byte of each layer on its way.
type tampering struct{ http.RoundTripper }

func (x tampering) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := x.RoundTripper.RoundTrip(r)
	if err != nil || !strings.Contains(r.URL.Path, "/blobs/") {
		return answer, err
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		data[len(data)-9] ^= 1
	}
	answer.Body = io.NopCloser(bytes.NewReader(data))
	return answer, nil
}

func TestTamperedOnTheWay(t *testing.T) {
	t.Parallel()
	s := &Store{Dir: t.TempDir(), Transport: tampering{http.DefaultTransport}}
	root, err := unpacked(t, s, layer(t, file("a", "good")))
	if err == nil {
		t.Fatalf("taken: %+v", root)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "roots")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
