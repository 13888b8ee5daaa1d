package namespace

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"kintsugi/sandbox"
)

const (
	// firstID is the first host id given to boxes of a privileged caller; the
	// ids up to 65535 belong to the system, those up to 165535 by custom to
	// the first sub-id ranges.
	firstID = 165536
	idRange = 65536
	// maxSlots bounds the boxes alive at once on one machine for one user.
	maxSlots = 1024
)

// slot is a place for one live box: a number that no other process uses (a
// locked file says so), the control group and the maker that belong to it. A
// slot serves one box after another, never two at once.
type slot struct {
	number int
	lease  *os.File
	group  *group
	maker  *maker
	owners map[owner]*os.File // user name spaces for trees of others

	written int  // bytes in the lease file
	spent   bool // the last box's memory was
}

// slots hands out slots.
type slots struct {
	host   *host
	groups *cgroups
	pool   *pool
	apart  *cleaners
	common []part // what every box has
	// life is a pipe that all our processes read: its end says that we are
	// gone. Nothing is ever written.
	life, lifeTheirs int

	mu   sync.Mutex
	free []*slot
	next int

	fresh  atomic.Pointer[string] // the traces of a new network
	ending atomic.Bool            // no more boxes are made
}

// get returns a slot whose maker makes boxes with the given network.
func (s *slots) get(network sandbox.Network) (*slot, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		at := n - 1
		for i, f := range s.free {
			if f.maker.network == network {
				at = i
			}
		}
		got := s.free[at]
		s.free = slices.Delete(s.free, at, at+1)
		s.mu.Unlock()
		return got, s.revive(got, network)
	}
	s.mu.Unlock()
	return s.open(network)
}

func (s *slots) put(used *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, used)
}

// open claims the first slot that nobody holds.
func (s *slots) open(network sandbox.Network) (*slot, error) {
	lease, number, err := s.claim()
	if err != nil {
		return nil, err
	}
	made := &slot{number: number, lease: lease}
	if made.group, err = s.groups.open(s.host.groupPrefix(number) + "box"); err == nil {
		made.maker, err = s.newMaker(made, network)
	}
	if err != nil {
		made.close()
		return nil, err
	}
	return made, nil
}

// revive gives a slot a new maker if the old one was killed, which the kernel
// does when a box's memory is spent, or makes boxes with another network.
func (s *slots) revive(slot *slot, network sandbox.Network) error {
	if !slot.spent && slot.maker.network == network && slot.maker.alive() && s.learn(slot.maker) == nil {
		return nil
	}
	slot.maker.close()
	fresh, err := s.newMaker(slot, network)
	if err != nil {
		slot.close()
		return err
	}
	slot.maker, slot.spent = fresh, false
	return nil
}

// close gives the slot up and removes its traces.
func (s *slot) close() {
	s.maker.close()
	for _, users := range s.owners {
		users.Close()
	}
	s.group.remove()
	os.Remove(s.lease.Name())
	s.lease.Close()
}

// close gives up all slots that no box is in.
func (s *slots) close() {
	s.ending.Store(true)
	s.apart.settle()
	s.mu.Lock()
	free := s.free
	s.free = nil
	s.mu.Unlock()
	for _, f := range free {
		f.close()
	}
}

// newSlots opens the life line.
func newSlots(h *host, g *cgroups) (*slots, error) {
	s := &slots{host: h, groups: g, apart: newCleaners()}
	var err error
	s.life, s.lifeTheirs, err = newLifeLine()
	return s, err
}

func (s *slots) claim() (*os.File, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := leases{s.host.stateDir}
	for s.next < maxSlots {
		number := s.next
		s.next++
		f, err := all.claim(number)
		if err != nil {
			return nil, 0, err
		}
		if f != nil {
			if st, err := f.Stat(); err == nil && st.Size() > 0 {
				sweep(f, s.host.groupPrefix(number), s.groups)
			}
			return f, number, nil
		}
	}
	return nil, 0, fmt.Errorf("%d boxes are alive; wait for some to end", maxSlots)
}
