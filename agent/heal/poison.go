package heal

import "slices"

// lureDistance is how near to an error advice has to stand, in bytes, to be
// about it.
const lureDistance = 1500

// poisoned marks a diagnosis whose text also carries advice that must not be
// followed: a link to a "fix", a script to pipe into a shell. The remedies stay
// those of the rules; only names that a curated map has may still be installed
// without asking.
func (s *scan) poisoned(d Diagnosis, pos int) Diagnosis {
	rl := s.rules.byID["system/poisoned"]
	if rl == nil || d.Heal == None || len(d.Remedies) == 0 || !s.guarded(rl) {
		return d
	}
	for _, m := range s.places(rl) {
		if m.pos < pos-lureDistance || m.pos > pos+lureDistance || !s.recognise(&m) {
			continue
		}
		d.Kind = rl.Kind
		d.Explanation += " " + s.explain(&m, "", &rl.outcome)
		if line := s.evidenceOf(&m); len(line) > 0 && !slices.Contains(d.Evidence, line[0]) {
			d.Evidence = append(d.Evidence, line[0])
		}
		if d.Heal == Auto && !allKnown(d.Remedies) {
			d.Heal = Ask
		}
		break
	}
	return d
}

func allKnown(remedies []Remedy) bool {
	for _, r := range remedies {
		if r.Action == "install" && r.Trust != Known {
			return false
		}
	}
	return true
}
