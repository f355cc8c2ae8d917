package adk

import (
	"context"

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
