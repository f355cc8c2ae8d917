package checkpointtest

import (
	"errors"
	"strings"

	"github.com/weftgo/weft/runs"
)

var damageRules = []runRule{
	{"others are taken", damageOthers},
	{"lists", damageLists},
	{"removed", damageRemoved},
}

// damaged makes a run that is due first, and destroys what the store knows of it.
func (s *subject) damaged() {
	s.t.Helper()
	s.submit("damaged", runs.Spec{Agent: "agent", Priority: 9, Records: [][]byte{[]byte("step")}})
	s.damage("damaged")
}

// damageOthers: a run that cannot be read keeps no worker from the others, and is reported, with its ID, by a worker that
// finds nothing else to do, and not again and again.
func damageOthers(s *subject) {
	s.damaged()
	s.submit("good", runs.Spec{Agent: "agent"})
	s.submit("better", runs.Spec{Agent: "agent"})
	s.due(runs.Due{}, "good")
	s.due(runs.Due{}, "better")
	reported := 0
	for range 10 {
		_, err := s.AcquireDue(background, runs.LeaseRequest{TTL: long}, runs.Due{})
		switch {
		case errors.Is(err, runs.ErrUnreadable) && strings.Contains(err.Error(), "damaged"):
			reported++
		case !errors.Is(err, runs.ErrNothingDue):
			s.t.Fatalf("AcquireDue beside a run that cannot be read: %v", err)
		}
	}
	if reported > 1 {
		s.t.Errorf("a run that cannot be read was reported %d times", reported)
	}
	_, err := s.Acquire(background, "damaged", runs.LeaseRequest{TTL: long})
	s.refused("Acquire of a run that cannot be read", err, runs.ErrUnreadable)
	if err != nil && !strings.Contains(err.Error(), `"damaged"`) {
		s.t.Errorf("Acquire of a run that cannot be read: %v; want its ID", err)
	}
}

// damageLists: lists show a run that cannot be read, and say why in its Error.
func damageLists(s *subject) {
	s.submit("good", runs.Spec{})
	s.damaged()
	s.submit("better", runs.Spec{})
	var found []string
	for info, err := range s.List(background, runs.Query{}) {
		noError(s.t, err)
		found = append(found, info.ID)
		if info.ID == "damaged" && info.Error == "" {
			s.t.Errorf("List shows %+v of a run that cannot be read; want an Error", info)
		}
	}
	if len(found) != 3 {
		s.t.Errorf("List beside a run that cannot be read has %v", found)
	}
	_, err := s.Sweep(background, 10)
	noError(s.t, err)
}

// damageRemoved: a run that cannot be read is removed like any other, and its ID is free.
func damageRemoved(s *subject) {
	s.damaged()
	noError(s.t, s.Remove(background, "damaged", true))
	s.gone("damaged")
	s.submit("damaged", runs.Spec{Agent: "agent"})
	s.due(runs.Due{}, "damaged")
}
