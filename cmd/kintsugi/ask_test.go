package main

import (
	"testing"

	"kintsugi/agent"
)

func TestExitCodeOfATask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		res  agent.Result
		want int
	}{
		{agent.Result{Reason: agent.Finished, NeedsConsent: true}, 0},
		{agent.Result{Reason: agent.Stuck}, exitUnsolved},
		{agent.Result{Reason: agent.SpentOut}, exitUnsolved},
		{agent.Result{Reason: agent.Stuck, NeedsConsent: true}, exitConsent},
		{agent.Result{Reason: agent.Cancelled, NeedsConsent: true}, exitInterrupted},
		{agent.Result{Reason: agent.NoModel}, exitOwn},
	} {
		if got := askExit(c.res); got != c.want {
			t.Errorf("%+v: %d, want %d", c.res, got, c.want)
		}
	}
}
