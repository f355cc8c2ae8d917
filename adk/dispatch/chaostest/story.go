package chaostest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// story is all that happened, by the clock of the test. It is safe for concurrent use.
type story struct {
	mu  sync.Mutex // guards all
	all []note
}

// note is something that happened, to a run or, without one, to all.
type note struct {
	at        time.Time
	run       runID
	who, what string
}

func (s *story) add(run runID, who, what string, args ...any) {
	s.addAt(time.Now(), run, who, what, args...)
}

func (s *story) addAt(at time.Time, run runID, who, what string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, note{at, run, who, fmt.Sprintf(what, args...)})
}

// of tells what happened to runs, and to the processes while they were there.
func (s *story) of(runs ...runID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []note
	for _, n := range s.all {
		concerns := n.run == runID{} || slices.Contains(runs, n.run)
		if n.run == (runID{}) && strings.HasPrefix(n.what, "log: ") { // what a worker logs names the run, if it is about one
			concerns = slices.ContainsFunc(runs, func(r runID) bool { return strings.Contains(n.what, "run="+r.id) })
		}
		if concerns {
			told = append(told, n)
		}
	}
	slices.SortStableFunc(told, func(a, b note) int { return a.at.Compare(b.at) })
	isOf := func(n note) bool { return n.run != runID{} }
	from := slices.IndexFunc(told, isOf)
	to := len(told)
	for to > 0 && !isOf(told[to-1]) {
		to--
	}
	if from < 0 {
		return ""
	}
	var text strings.Builder
	for _, n := range told[max(from-3, 0):min(to+3, len(told))] {
		fmt.Fprintf(&text, "%s %-10s %-8.8s %s\n", n.at.Format("15:04:05.000"), n.who, n.run.id, n.what)
	}
	return text.String()
}

// lines has what a process writes told line by line.
type lines struct {
	story *story
	who   string

	mu   sync.Mutex // guards rest
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.story.add(runID{}, l.who, "log: %s", line)
		l.rest = rest
	}
}
