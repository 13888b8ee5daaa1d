package probe

import (
	"bufio"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// patience is how long an answer of the gateway may take.
const patience = 2 * time.Second

// askGateway makes each request of the file "requests" on a connection of its
// own, and wants each refused or cut off. A plain request must work, or
// nothing would be proved.
func askGateway(a Args) Verdict {
	all := []Verdict{plainWorks()}
	data, err := os.ReadFile("requests")
	if err != nil {
		return Errorf("no requests: %v", err)
	}
	lines := strings.Fields(string(data))
	answers := make(chan Verdict)
	turn := make(chan struct{}, 8) // requests at once
	for _, line := range lines {
		go func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			raw, err := base64.StdEncoding.DecodeString(line)
			if err != nil {
				answers <- Errorf("%v", err)
				return
			}
			answers <- refusedByGateway(string(raw))
		}()
	}
	for range lines {
		all = append(all, <-answers)
	}
	if v := Worst(all...); v.Verdict != Held {
		return v
	}
	return Heldf("%d requests refused", len(lines))
}

func plainWorks() Verdict {
	status, body := exchange("GET /pip/simple/pots/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
	if status != 200 || !strings.Contains(body, "pots-1.0") {
		return Errorf("the gateway does not work at all: status %d, %.300q", status, body)
	}
	return Heldf("it works")
}

// refusedByGateway wants an error status, or no answer, and no second answer
// that is not an error either.
func refusedByGateway(raw string) Verdict {
	status, rest := exchange(raw)
	switch {
	case status >= 100 && status < 400:
		return Breachf("%.120q: answered with status %d", raw, status)
	case strings.Contains(rest, "HTTP/1.1 2"):
		return Breachf("%.120q: a second answer came", raw)
	case strings.Contains(rest, "something else"):
		return Breachf("%.120q: content that no hash vouches for", raw)
	}
	return Heldf("status %d", status)
}

// more is how long a second answer may take after the first.
const more = 60 * time.Millisecond

// exchange sends bytes and gives the status of the first answer, 0 when there
// is none, and all that came.
func exchange(raw string) (status int, all string) {
	c, err := net.DialTimeout("tcp", "127.0.0.1:7792", patience)
	if err != nil {
		return 0, ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, raw); err != nil {
		return 0, ""
	}
	in := bufio.NewReader(io.LimitReader(c, 1<<20))
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	_ = c.SetDeadline(time.Now().Add(more))
	rest, _ := io.ReadAll(in)
	return resp.StatusCode, string(body) + string(rest)
}
