package storekit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// OwnQueue is the queue of runs that are leases of Weft's own and execute nothing, such as the lease of the worker that
// removes old events. A store lists and counts them, and has workers take them, if the queue is named, and not otherwise.
const OwnQueue = core.OwnQueue

// Owned is a copy that is not nil, so that an empty checkpoint reads the same from every store.
func Owned(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// ownedPoints is a copy of questions that shares nothing with them.
func ownedPoints(points []runs.Question) []runs.Question {
	points = slices.Clone(points)
	for i := range points {
		p := &points[i]
		p.For, p.Info, p.Schema = slices.Clone(p.For), slices.Clone(p.Info), slices.Clone(p.Schema)
	}
	return points
}

// askedPoints is a copy of questions in which an Info that is no JSON is left out. How long it is, and the text, is not
// for a store to bound: they may be sealed.
func askedPoints(points []runs.Question) []runs.Question {
	points = ownedPoints(points)
	for i := range points {
		if p := &points[i]; len(p.Info) > 0 && !json.Valid(p.Info) {
			p.Info, p.Truncated = nil, true
		}
		if !json.Valid(points[i].Schema) {
			points[i].Schema = nil
		}
	}
	return points
}

// EncodedReplies returns replies with their values in Data: see [runs.Reply.Encoded].
func EncodedReplies(replies []runs.Reply) (encoded []runs.Reply, err error) {
	for _, r := range replies {
		if r, err = r.Encoded(); err != nil {
			return nil, err
		}
		encoded = append(encoded, r)
	}
	return encoded, nil
}

// OwnedAnswers is a copy of answers that shares nothing with them.
func OwnedAnswers(answers []runs.Reply) []runs.Reply {
	answers = slices.Clone(answers)
	for i := range answers {
		answers[i].Data = slices.Clone(answers[i].Data)
	}
	return answers
}

// CheckSize refuses a value of over 64 MiB, before anything is written.
func CheckSize(doing, id string, value []byte) error {
	if len(value) > largestValue {
		return Failed(doing, id, fmt.Errorf("%d bytes are too long: at most %d are possible", len(value), largestValue))
	}
	return nil
}

// CheckID refuses the ID of a run that is not the one of a lease.
func CheckID(run, id string) error {
	if run != id {
		return Failed("use", id, fmt.Errorf("the lease is of run %q", run))
	}
	return nil
}

// CheckSettlement refuses what cannot be done, before anything is.
func CheckSettlement(id string, s runs.Settlement) error {
	for _, child := range s.Children {
		if _, err := New(child.ID, child.Run, 0, time.Time{}); err != nil {
			return err
		}
	}
	for _, value := range [][]byte{s.Checkpoint, s.Result, s.Answer} {
		if err := CheckSize("settle", id, value); err != nil {
			return err
		}
	}
	return nil
}

// Failed says of an error what was being done to which checkpoint. An ID may be anything: it is quoted, and a long one
// is cut. No error stays none.
func Failed(doing, id string, err error) error {
	const most = 80
	switch {
	case err == nil:
		return nil
	case len(id) > most:
		return fmt.Errorf("%s checkpoint %q… (%d bytes): %w", doing, id[:most], len(id), err)
	default:
		return fmt.Errorf("%s checkpoint %q: %w", doing, id, err)
	}
}

// FailedOnce is [Failed], and adds nothing to errors that say which run they are about.
func FailedOnce(doing, id string, err error) error {
	var busy *runs.BusyError
	var state *runs.Error
	var row *RowError
	if errors.As(err, &busy) || errors.As(err, &state) || errors.As(err, &row) || errors.Is(err, runs.ErrNotFound) ||
		errors.Is(err, runs.ErrNothingDue) {
		return err
	}
	return Failed(doing, id, err)
}

// NotFound is the error of a run that there is not.
func NotFound(id string) error { return &runs.NotFoundError{ID: id} }

// Lost is the error of a lease that no longer counts.
func Lost(id string, token uint64) error {
	return &runs.Error{Err: runs.ErrLeaseLost, Info: runs.Info{ID: id, Token: token}}
}

// Behind is the error of a run that another one of its key is in front of: that one is busy.
func Behind(r, other *Row) error {
	return fmt.Errorf("run %q waits for another of its key: %w", r.Run.ID, other.Busy())
}

// NotAlone is the error of who submits a run with NewRun.Alone that would be behind another of its key.
func NotAlone(r, other *Row) error {
	return fmt.Errorf("run %q is not made, as another one has its key: %w", r.Run.ID, other.Busy())
}

// ParentAnswer returns the answer that the parent of a settled run gets, and whether it gets one.
func (r *Row) ParentAnswer(s runs.Settlement) (parent string, answer runs.Reply, ok bool) {
	if r.ParentPoint == "" || s.Status != runs.Done && s.Status != runs.Failed {
		return "", answer, false
	}
	return r.Run.Parent, runs.Reply{To: r.ParentPoint, Data: s.Answer, By: "run " + r.Run.ID}, true
}
