package adk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func init() {
	schema.RegisterName[runs.JSONReply]("_weft_adk_json_answer")
	schema.RegisterName[*runs.Expired]("_weft_adk_answer_expired")
}

// Questions returns what an interrupted run waits for, each with its Info ([runs.Question.Value]). The last event of
// the run has the info; nil has no questions.
func Questions(info *InterruptInfo) (questions []runs.Question) {
	if info == nil {
		return nil
	}
	for _, c := range info.InterruptContexts {
		if c != nil && c.IsRootCause {
			questions = append(questions, questionAt(c))
		}
	}
	return questions
}

// questionAt returns the question of an interrupt, with its place in the run.
func questionAt(c *InterruptCtx) runs.Question {
	q := runs.NewQuestion(c.ID, c.Info)
	q.Address = c.Address.String()
	var tool, call string
	for _, s := range c.Address {
		switch s.Type {
		case AddressSegmentAgent:
			q.Agent = s.ID
		case AddressSegmentTool:
			tool, call = s.ID, s.SubID
		}
	}
	if q.Tool == "" {
		q.Tool, q.Call = tool, call
	}
	return q
}

// waitingFor returns the questions of a run that stopped, as its store keeps them, and the Infos by their IDs.
func waitingFor(signal *InterruptSignal, since time.Time) (questions []runs.Question, infos map[string]any) {
	infos = map[string]any{}
	for _, c := range interruptContexts(signal) {
		if !c.IsRootCause {
			continue
		}
		q := questionAt(c).Listed()
		q.Since = since
		questions, infos[c.ID] = append(questions, q), c.Info
	}
	return questions, infos
}

// Asks says how the question is listed: see [runs.Asker].
func (u *OutcomeUnknown) Asks() runs.Question {
	return runs.Question{Kind: runs.KindOutcome, Tool: u.ToolName, Call: u.CallID, Arguments: u.Arguments,
		Text: fmt.Sprintf("did the call of tool %q succeed?", u.ToolName)}
}

// Shortened implements [runs.Shortener].
func (u *OutcomeUnknown) Shortened(most int) any {
	short := *u
	short.Arguments = strings.ToValidUTF8(u.Arguments[:min(len(u.Arguments), most)], "")
	return &short
}

// IsCancelPoint reports whether an interrupt is where a cancelled run stopped, and no question of anybody.
func IsCancelPoint(point *InterruptCtx) bool {
	switch info := point.Info.(type) {
	case string:
		return info == infoStopped || info == infoAfterChatModel || info == infoAfterToolCalls
	case *compose.ToolsInterruptAndRerunExtra: // calls that were given up, none of which asks
		return true
	}
	return false
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
