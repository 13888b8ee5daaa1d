package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSpreadIsNearestRank(t *testing.T) {
	t.Parallel()
	var list []time.Duration
	for i := 100; i >= 1; i-- {
		list = append(list, time.Duration(i)*time.Millisecond)
	}
	if got, want := spread(list), (Spread{50, 95, 99}); got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got := spread(list[:1]); got.P50 != got.P99 || got.P50 == 0 {
		t.Fatalf("one value: %v", got)
	}
}

func TestRunTakesTurnsAndReportsFailures(t *testing.T) {
	t.Parallel()
	var turns []string
	settled := 0
	good := func(name string) Contestant {
		return Contestant{Name: name, Run: func(context.Context) (Times, error) {
			return Times{FirstByte: time.Millisecond, Whole: 2 * time.Millisecond}, nil
		}, Ready: func() error { turns = append(turns, name); return nil }, Settle: func() { settled++ }}
	}
	bad := Contestant{Name: "bad", Run: func(context.Context) (Times, error) { return Times{}, errors.New("broken") }}
	res, err := Run(context.Background(), []Contestant{good("a"), good("bwrap"), bad}, Options{Rounds: 3, Concurrent: []int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if settled != len(turns) {
		t.Errorf("%d turns, %d settled", len(turns), settled)
	}
	firsts := map[string]bool{}
	for i := 0; i < len(turns); i += 2 {
		if turns[i] == turns[i+1] {
			t.Errorf("turns %v: want one of each in every round", turns)
		}
		firsts[turns[i]] = true
	}
	if len(firsts) != 2 {
		t.Errorf("turns %v: want another order in some rounds", turns)
	}
	if len(res.Rows) != 6 || res.Rows[2].Error != "broken" || res.Rows[3].Runs != 2*minRounds {
		t.Errorf("rows %+v", res.Rows)
	}
	if got := res.Ratio("a", 2); got != 1 {
		t.Errorf("ratio %v, want 1", got)
	}
	var b strings.Builder
	res.WriteTable(&b)
	if !strings.Contains(b.String(), "broken") || !strings.Contains(b.String(), "1.00") {
		t.Errorf("table:\n%s", b.String())
	}
}

func TestPeersNameEveryAbsence(t *testing.T) {
	t.Parallel()
	found, absent := Peers(context.Background(), t.TempDir(), "", nil)
	if len(found)+len(absent) != len(peers) {
		t.Fatalf("%d found and %d absent of %d", len(found), len(absent), len(peers))
	}
	for _, a := range absent {
		if a.Why == "" {
			t.Errorf("%s is absent without a reason", a.Name)
		}
	}
}
