package adk

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// answersFor returns the answers that the run is resumed with: first those that an earlier process was given, then those
// in the store, then the caller's, then those that an earlier stretch was given and did not use. Each question has one.
func (run *runnerRun[M]) answersFor(ctx context.Context, saved *runDocument, params *ResumeParams) (map[string]any, error) {
	answers, err := decodeAnswers(run.past.answers)
	if err != nil {
		return nil, err
	}
	given := map[string]any{}
	if run.held != nil {
		if given, err = run.storedAnswers(ctx); err != nil {
			return nil, err
		}
	}
	if params != nil {
		known := saved.knownTargets(params.Targets)
		run.root.diagnostics.warnOfTargets(ctx, *run.root.options.checkPointID, params.Targets, known)
		if err := saved.checkAnswers(known); err != nil {
			return nil, err
		}
		for id, answer := range known {
			if _, answered := given[id]; !answered {
				given[id] = answer
			}
		}
	}
	unused, err := decodeAnswers(saved.Answers)
	if err != nil {
		return nil, err
	}
	for _, more := range []map[string]any{saved.knownTargets(given), unused} {
		for id, answer := range more {
			if _, answered := answers[id]; !answered {
				answers[id] = answer
			}
		}
	}
	return answers, nil
}

// storedAnswers are the answers in the store, by their questions.
func (run *runnerRun[M]) storedAnswers(ctx context.Context) (map[string]any, error) {
	stored, err := run.held.Replies(ctx)
	if err != nil {
		return nil, err
	}
	given := make(map[string]any, len(stored))
	for _, a := range stored {
		if given[a.To], err = a.Decoded(); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// addLateAnswers adds the answers that came to the store since answersFor has looked. A run that is taken while it waits,
// as a timer has ended, takes answers until the first record of the stretch is there, and none from then on: this is for
// behind it. A process that continues after a death finds them in the store.
// Rule distributed/C6.
func (run *runnerRun[M]) addLateAnswers(ctx context.Context, saved *runDocument, answers map[string]any) error {
	if run.held == nil {
		return nil
	}
	switch run.held.Info().Status {
	case runs.Waiting, runs.Paused:
	default: // it took no answers
		return nil
	}
	given, err := run.storedAnswers(ctx)
	if err != nil {
		return err
	}
	for id, answer := range saved.knownTargets(given) {
		if _, answered := answers[id]; !answered {
			answers[id] = answer
		}
	}
	return nil
}

// keepAnswers keeps, in the document of a run that stops, the answers that it was resumed with and that nothing came of:
// code that was given one was stopped before it had a result. It stands at the same address, and is given the answer once
// more when the run continues, instead of asking for it. Code that asked again has had its answer.
// Rule distributed/C6.
func (run *runnerRun[M]) keepAnswers(d *runDocument, signal *InterruptSignal) {
	if len(run.answers) == 0 || run.saved == nil {
		return
	}
	given := make(map[string]any, len(run.answers))
	for i := range run.saved.Points {
		p := &run.saved.Points[i]
		if answer, answered := run.answers[p.ID]; answered {
			given[p.Address.String()] = answer
		}
	}
	unused := map[string]any{}
	for _, s := range stoppedIn(nil, signal) {
		if answer, answered := given[s.Address.String()]; answered {
			unused[s.ID] = answer
		}
	}
	if len(unused) > 0 {
		d.Answers = run.root.diagnostics.encodeAnswers(run.exec.Context, unused)
	}
}

// stoppedIn adds the interrupts that are no questions of anybody, in and below one, to those before.
func stoppedIn(before []*core.InterruptSignal, signal *core.InterruptSignal) []*core.InterruptSignal {
	if signal == nil {
		return before
	}
	if IsCancelPoint(&InterruptCtx{Info: signal.Info}) {
		before = append(before, signal)
	}
	for _, sub := range signal.Subs {
		before = stoppedIn(before, sub)
	}
	return before
}

// refusedAnswer says what is wrong with an answer.
type refusedAnswer struct {
	point string
	why   error
}

func (e *refusedAnswer) Error() string {
	return fmt.Sprintf("the answer to question %q is refused: %v", e.point, e.why)
}

func (e *refusedAnswer) Unwrap() []error { return []error{runs.ErrRefused, e.why} }

// CheckAnswers has the questions of a run that waits look at answers before they are put into the inbox of its store: the
// error of those that an [Answerable] Info refuses matches [ErrAnswerRefused]. It reads the checkpoint of the run, and
// changes nothing. A question whose type this program does not register is not asked, nor is a run that it cannot read:
// the process that executes the run can. (C10)
func CheckReplies(ctx context.Context, store CheckPointStore, id string, answers ...runs.Reply) error {
	if isNilStore(store) {
		return errStoreNilForResume
	}
	saved, err := readStopped(ctx, store, id)
	if err != nil {
		return fmt.Errorf("failed to read what run %q asks: %w", id, err)
	}
	if saved == nil {
		return nil
	}
	values := make(map[string]any, len(answers))
	for _, a := range answers {
		if value, err := a.Decoded(); err == nil {
			values[a.To] = value
		}
	}
	return saved.checkAnswers(values)
}

// readStopped reads what a run is saved with, nil if there is nothing that this program can read.
func readStopped(ctx context.Context, store CheckPointStore, id string) (*runDocument, error) {
	var data []byte
	if _, ok := store.(runs.Journal); ok {
		past, err := journal.New(store, id).Replay(ctx)
		var record *runs.DamageError
		switch {
		case errors.As(err, &record), errors.Is(err, runs.ErrDamaged), errors.Is(err, runs.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
		data = past.Run
	}
	if data == nil {
		var exists bool
		var err error
		if data, exists, err = store.Get(ctx, id); err != nil || !exists {
			return nil, err
		}
	}
	saved, unknown := openRun(data)
	if unknown != nil {
		return nil, nil
	}
	return saved, nil
}

// checkAnswers has the Infos of a stopped run look at its answers.
func (d *runDocument) checkAnswers(answers map[string]any) (err error) {
	for i := range d.Points {
		answer, given := answers[d.Points[i].ID]
		if !given || d.Points[i].Info == nil {
			continue
		}
		info, decodeErr := decodeValue(d.Points[i].Info, "info of the interrupt at %s", d.Points[i].Address)
		if check, ok := info.(runs.Checker); ok && decodeErr == nil {
			if why := guardHook(func() error { return check.CheckReply(answer) }); why != nil {
				err = errors.Join(err, &refusedAnswer{d.Points[i].ID, why})
			}
		}
	}
	return err
}

// encodeAnswers returns what the journal keeps of the answers that a run is resumed with, so that they need not be given
// again if the process dies. One of a type that is not registered is left out.
func (d diagnostics) encodeAnswers(ctx context.Context, answers map[string]any) map[string][]byte {
	encoded := make(map[string][]byte, len(answers))
	for id, answer := range answers {
		data, err := encodeValue(answer, "answer to %q", id)
		if err != nil {
			d.warn(ctx, "an answer cannot be saved; if the process dies, the question is asked again", "question", id, "error", err)
			continue
		}
		encoded[id] = data
	}
	return encoded
}

// decodeAnswers reads what encodeAnswers kept.
func decodeAnswers(encoded map[string][]byte) (map[string]any, error) {
	answers := make(map[string]any, len(encoded))
	for id, data := range encoded {
		if len(data) == 0 {
			answers[id] = nil
			continue
		}
		v, err := decodeValue(data, "answer to %q", id)
		if err != nil {
			return nil, err
		}
		answers[id] = v
	}
	return answers, nil
}
