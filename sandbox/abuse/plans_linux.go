package abuse

import (
	"maps"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

const mib = 1 << 20

// plans are the host's halves, by the name of the probe in the table. A probe
// that is not here needs none.
func plans() map[string]plan {
	all := map[string]plan{}
	for _, part := range []map[string]plan{
		taskPlans(), memoryPlans(), diskPlans(), quotaPlans(), outputPlans(), lifePlans(), killPlans(), filePlans(), networkPlans(), gatewayPlans(),
		secretPlans(), terminalPlans(), projectPlans(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// endedBy is a judge for probes that a limit ends: one of the limits must be
// named, or the probe must have been refused and said so.
func endedBy(limits ...sandbox.LimitHit) func(*trial) probe.Verdict {
	return func(t *trial) probe.Verdict {
		if v, ok := t.out.verdict(); ok {
			return v
		}
		return t.limitIs(limits...)
	}
}

func (t *trial) limitIs(limits ...sandbox.LimitHit) probe.Verdict {
	for _, l := range limits {
		if t.res.Limit == l {
			return probe.Heldf("ended by the limit: %s (%s)", l, t.res.Mechanism)
		}
	}
	return probe.Breachf("ended with %s, not by the limit %q; it wrote %.200q", t.ending(), limits[0], t.out.text())
}

// atDeadline is a judge for probes that never end by themselves.
func atDeadline(t *trial) probe.Verdict {
	v := t.limitIs(sandbox.LimitWall)
	if over := t.took - t.spec.Limits.Wall; over > grace {
		v = worst(v, probe.Breachf("ended %v after the deadline", over.Round(time.Millisecond)))
	}
	return v
}

// prompt is a judge for probes that end at once: so must the box.
func prompt(most time.Duration) func(*trial) probe.Verdict {
	return func(t *trial) probe.Verdict {
		if t.took > most {
			return worst(t.inside(), probe.Breachf("over only after %v", t.took.Round(time.Millisecond)))
		}
		return t.inside()
	}
}

// with makes a setup that gives parameters.
func with(pairs ...any) func(*trial) error {
	return func(t *trial) error {
		for i := 0; i+1 < len(pairs); i += 2 {
			t.param(pairs[i].(string), pairs[i+1])
		}
		return nil
	}
}
