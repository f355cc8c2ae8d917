package chaostest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// people answer what runs of a tenant ask, stop runs, and continue those that are paused.
type people struct {
	tenant string
	d      *dispatch.Dispatcher
	r      *rand.Rand
	bank   *bank
	story  *story
	said   *said
	broken *findings
	// calm says that nothing is stopped any more.
	calm *atomic.Bool
	// answered numbers answers, so that no two are the same.
	answered int
	// late are the questions that should have an answer of a run that has ended, by when that was noticed first.
	late map[string]time.Time
}

// look does what there is to do now.
func (p *people) look(ctx context.Context, jobs []*job) error {
	for info, err := range p.d.List(ctx, runs.Query{Status: []runs.Status{runs.Waiting}}) {
		if err != nil {
			return err
		}
		if err := p.lookAt(ctx, info); err != nil {
			return fmt.Errorf("run %s of %s: %w", info.ID, p.tenant, err)
		}
	}
	for info, err := range p.d.List(ctx, runs.Query{Status: []runs.Status{runs.Paused}}) {
		if err != nil {
			return err
		}
		if p.r.IntN(4) > 0 {
			continue
		}
		p.tell(info.ID, "continues it")
		if err := p.d.Continue(ctx, info.ID); err != nil && !errors.Is(err, runs.ErrEnded) {
			return fmt.Errorf("continue run %s of %s: %w", info.ID, p.tenant, err)
		}
	}
	if !p.calm.Load() && p.r.IntN(3) == 0 {
		return p.stop(ctx, jobs[p.r.IntN(len(jobs))])
	}
	return nil
}

func (p *people) tell(id, what string, args ...any) {
	p.story.add(runID{p.tenant, id}, "person", what, args...)
}

// stop stops a run with its children. The next person that looks continues it.
func (p *people) stop(ctx context.Context, j *job) error {
	if !j.stops {
		return nil
	}
	how := runs.StopRequest{Immediate: p.r.IntN(2) == 0, Reason: "lunch", Children: true}
	if how.Immediate {
		p.said.stop(j.run) // before, as it may be obeyed before Stop returns
	}
	err := p.d.Stop(ctx, j.run.id, how)
	if errors.Is(err, runs.ErrEnded) || errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	p.tell(j.run.id, "stops it (at once: %t): %v", how.Immediate, err)
	return err
}

// lookAt answers some of the questions of a run.
func (p *people) lookAt(ctx context.Context, info runs.Info) error {
	for _, q := range info.Waiting {
		if q.Answered {
			continue
		}
		if q.Kind == runs.KindRun {
			if err := p.lookForChild(ctx, info, q); err != nil {
				return err
			}
			continue
		}
		if p.r.IntN(3) == 0 {
			continue // later
		}
		var err error
		switch q.Kind {
		case runs.KindQuestion:
			err = p.answer(ctx, info, q)
		case runs.KindOutcome:
			err = p.decide(ctx, info, q)
		case runs.KindWebhook:
			err = p.callHook(ctx, info, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isRefusal reports whether an error says that an answer comes too late, too early or is the second one.
func isRefusal(err error) bool {
	return errors.Is(err, runs.ErrNotWaiting) || errors.Is(err, runs.ErrReplied)
}

// next returns an answer that was not given before.
func (p *people) next() string {
	p.answered++
	return fmt.Sprintf("%s-says-%d", p.tenant, p.answered)
}

// answer answers a question: sometimes twice at the same time, sometimes once more later, or before it is asked.
func (p *people) answer(ctx context.Context, info runs.Info, q runs.Question) error {
	var asked question
	if err := json.Unmarshal(q.Info, &asked); err != nil {
		return fmt.Errorf("question %q: %w", q.Info, err)
	}
	if p.r.IntN(8) == 0 {
		if _, err := p.give(ctx, info, "a question that is not there", asked.Name, p.next(), time.Time{}); err != nil {
			return err
		}
	}
	givers := 1
	if p.r.IntN(3) == 0 {
		givers = 2
	}
	taken, errs := make([]bool, givers), make([]error, givers)
	var all sync.WaitGroup
	for i := range givers {
		text := p.next()
		all.Go(func() { taken[i], errs[i] = p.give(ctx, info, q.ID, asked.Name, text, q.Expires) })
	}
	all.Wait()
	again := false
	if p.r.IntN(3) == 0 {
		var err error
		again, err = p.give(ctx, info, q.ID, asked.Name, p.next(), q.Expires)
		errs = append(errs, err)
	}
	if givers == 2 && taken[0] && taken[1] || again && (taken[0] || givers == 2 && taken[1]) {
		p.broken.add(runID{p.tenant, info.ID}, "two answers to question %s were taken", asked.Name)
	}
	return errors.Join(errs...)
}

// give gives one answer, and reports whether it was taken.
func (p *people) give(
	ctx context.Context, info runs.Info, point, name, text string, expires time.Time,
) (taken bool, err error) {
	a, err := runs.EncodeReply(point, text)
	if err != nil {
		return false, err
	}
	isLate := !expires.IsZero() && time.Now().After(expires)
	err = p.d.Reply(ctx, info.ID, a)
	p.tell(info.ID, "answers %s at %s with %s: %v", name, point, text, err)
	switch {
	case isRefusal(err):
		return false, nil
	case err != nil:
		return false, err
	case isLate:
		p.broken.add(runID{p.tenant, info.ID}, "an answer to question %s was taken after its time", name)
	}
	p.said.take(name, text)
	return true, nil
}

// decide finds out what became of a call, and says so.
func (p *people) decide(ctx context.Context, info runs.Info, q runs.Question) error {
	var unknown adk.OutcomeUnknown
	if err := json.Unmarshal(q.Info, &unknown); err != nil {
		return fmt.Errorf("question %q: %w", q.Info, err)
	}
	var in struct{ Name string }
	if err := json.Unmarshal([]byte(unknown.Arguments), &in); err != nil {
		return err
	}
	if unknown.ToolName != doRisk {
		p.broken.add(runID{p.tenant, info.ID}, "somebody is asked what became of %s, a call of tool %s", in.Name, unknown.ToolName)
	}
	found := p.bank.decides(runID{p.tenant, info.ID}, unknown.IdempotencyKey, info.Token)
	decision := &adk.ToolOutcome{Rerun: !found}
	if found {
		decision.Result = receipt(doRisk, in.Name)
	}
	a, err := runs.EncodeReply(q.ID, decision)
	if err != nil {
		return err
	}
	err = p.d.Reply(ctx, info.ID, a)
	p.tell(info.ID, "decides on %s at %s, to be called again: %t: %v", in.Name, q.ID, !found, err)
	if isRefusal(err) {
		return nil
	}
	return err
}

// callHook answers for another program.
func (p *people) callHook(ctx context.Context, info runs.Info, q runs.Question) error {
	var hook dispatch.Webhook
	if err := json.Unmarshal(q.Info, &hook); err != nil {
		return fmt.Errorf("question %q: %w", q.Info, err)
	}
	for range 1 + p.r.IntN(2) {
		text := p.next()
		answer, err := json.Marshal(text)
		if err != nil {
			return err
		}
		err = p.d.ReplyWebhook(ctx, hook.Token, answer)
		p.tell(info.ID, "another program answers %s with %s: %v", q.ID, text, err)
		switch {
		case err == nil:
			p.said.takeHook(runID{p.tenant, info.ID}, text)
		case !isRefusal(err):
			return err
		}
	}
	return nil
}

// lateBy is for how long a run may wait for one that has ended.
const lateBy = 15 * time.Second

// lookForChild notices a run that waits for one that has ended, or is not there.
func (p *people) lookForChild(ctx context.Context, info runs.Info, q runs.Question) error {
	var child struct{ Run string }
	if err := json.Unmarshal(q.Info, &child); err != nil {
		return fmt.Errorf("question %q: %w", q.Info, err)
	}
	run, exists, err := p.d.Inspect(ctx, child.Run)
	if err != nil {
		return err
	}
	key := info.ID + " " + q.ID
	if exists && run.Status != runs.Done && run.Status != runs.Failed {
		delete(p.late, key)
		return nil
	}
	switch since, known := p.late[key]; {
	case !known:
		p.late[key] = time.Now()
	case time.Since(since) > lateBy:
		p.broken.add(runID{p.tenant, info.ID}, "for %s it waits for run %s, which has ended (is there: %t)", lateBy, child.Run, exists)
	}
	return nil
}
