package checkpointtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftgo/weft/runs"
)

// hostileTenants are names, some of which are made to look like other ones, or like what stores make of them.
var hostileTenants = []string{"", "-", " ", "a", "a/", "a:", "a b", "a.", "a.*", "*", ">", "A", "1:a:", "4:1:a:", "ä", "%", "%25", "#",
	"\x00", "a\xff", strings.Repeat("🧵", 300), strings.Repeat("x", 600), "a:run"}

// Tenants tests that what one tenant of a store has is that tenant's alone, whatever its name: each run, list, answer,
// lease and removal. of makes the store of a tenant, all in the same empty store.
func Tenants(t *testing.T, of func(tenant string) runs.Store) {
	t.Helper()
	subjects := make([]*subject, len(hostileTenants))
	for i, name := range hostileTenants {
		subjects[i] = &subject{Store: of(name), t: t}
	}
	var last uint64
	for i, s := range subjects {
		last = s.beginAsTenant(i, last)
	}
	for i, s := range subjects {
		s.hasOwn(i)
		switch i % 3 {
		case 0:
			noError(t, s.Reply(background, "run", runs.Reply{To: "q", Data: fmt.Append(nil, i)}))
		case 1:
			noError(t, s.Stop(background, "run", runs.StopRequest{}))
		default:
			noError(t, s.Remove(background, "run", false))
		}
		want := []map[runs.Status]int64{{runs.Ready: 1}, {runs.Paused: 1}, {}}[i%3]
		if got, err := s.Count(background, runs.Query{}); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("tenant %s has %v, %v; want %v", short(hostileTenants[i]), got, err, want)
		}
	}
	for i, s := range subjects {
		l, err := s.AcquireDue(background, runs.LeaseRequest{TTL: long}, runs.Due{})
		if i%3 != 0 {
			s.refused("AcquireDue of tenant "+short(hostileTenants[i]), err, runs.ErrNothingDue)
			continue
		}
		if err != nil {
			t.Errorf("AcquireDue of tenant %s, whose run was answered: %v", short(hostileTenants[i]), err)
			continue
		}
		answers, err := l.Replies(background)
		noError(t, err)
		if len(answers) != 1 || string(answers[0].Data) != fmt.Sprint(i) {
			t.Errorf("tenant %s has the answers %+v; want its own", short(hostileTenants[i]), answers)
		}
	}
}

// beginAsTenant makes a run of a tenant that is new, which waits in the end, and a checkpoint. It returns the token of the
// run, which is greater than the tokens of all tenants before.
func (s *subject) beginAsTenant(i int, last uint64) uint64 {
	s.t.Helper()
	name := hostileTenants[i]
	s.noRun("run")
	if _, ok, err := s.Get(background, "plain"); ok || err != nil {
		s.t.Errorf("tenant %s has a checkpoint before it has made one, %v", short(name), err)
	}
	_, err := s.AcquireDue(background, runs.LeaseRequest{}, runs.Due{})
	s.refused("AcquireDue of tenant "+short(name), err, runs.ErrNothingDue)
	noError(s.t, s.Remove(background, "run", true)) // removes no run of another tenant
	noError(s.t, s.Set(background, "plain", fmt.Append(nil, i)))
	s.submit("run", runs.Spec{Agent: fmt.Sprint(i), Key: "k", Queue: "q", Tags: map[string]string{"a": "b"}})
	l, err := s.AcquireDue(background, runs.LeaseRequest{TTL: long}, runs.Due{Queues: []string{"q"}})
	if err != nil {
		s.t.Fatalf("AcquireDue of tenant %s: %v", short(name), err)
	}
	if info := l.Info(); info.Tenant != name || info.Agent != fmt.Sprint(i) || info.ID != "run" {
		s.t.Errorf("tenant %s was given %+v", short(name), info)
	}
	if l.Token() <= last {
		s.t.Errorf("tenant %s has token %d, after %d of another", short(name), l.Token(), last)
	}
	noError(s.t, l.AppendRecord(background, "run", fmt.Append(nil, i)))
	s.settle(l, runs.Settlement{Status: runs.Waiting,
		Waiting: []runs.Question{{ID: "q", For: []string{"ana"}}}})
	return l.Token()
}

// hasOwn requires that a tenant sees what it has made, and nothing else.
func (s *subject) hasOwn(i int) {
	s.t.Helper()
	name := hostileTenants[i]
	got, _, err := s.Get(background, "plain")
	if err != nil || string(got) != fmt.Sprint(i) {
		s.t.Errorf("tenant %s has the checkpoint %q, %v; want its own", short(name), got, err)
	}
	records, err := s.ReadRecords(background, "run")
	if err != nil || len(records) != 1 || string(records[0]) != fmt.Sprint(i) {
		s.t.Errorf("tenant %s has the records %q, %v; want its own", short(name), records, err)
	}
	for _, q := range []runs.Query{{}, {WaitingFor: "ana"}, {Key: "k"}, {Tags: map[string]string{"a": "b"}}} {
		n := 0
		for info, err := range s.List(background, q) {
			noError(s.t, err)
			if n++; info.Agent != fmt.Sprint(i) || info.Tenant != name {
				s.t.Errorf("tenant %s lists %+v", short(name), info)
			}
		}
		if n != 1 {
			s.t.Errorf("tenant %s lists %d runs of %+v; want its own", short(name), n, q)
		}
	}
	info, ok, err := s.Inspect(background, "run")
	if !ok || err != nil || info.Tenant != name {
		s.t.Errorf("tenant %s inspects %+v, %v", short(name), info, err)
	}
}
