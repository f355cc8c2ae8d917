package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Asks is an optional interface of the Info of an interrupt: it returns what a list of open questions shows, also in
// another process that knows nothing but the store.
type Asks interface{ Asks() Question }

// Question is an interrupt in a list.
type Question struct {
	// Kind is approval, question, outcome, timer, run, webhook or client_tool, or the application's own. Runs do not wait
	// for outcomes, timers and runs if people have to answer, too: the process that executes the run sees to those.
	Kind string
	// For is whom it waits for: users, groups, roles, as the application names them.
	For []string
	// Summary is one line, cut after 500 bytes.
	Summary string
	// Expires is the time after which no answer is expected any more. The answer is then an [AnswerExpired]. The zero
	// time is never.
	Expires time.Time
	// Schema is the JSON Schema of an answer that is JSON, for a program that shows a form. The default is nil: it says
	// nothing.
	Schema json.RawMessage
	// URL is the page that the person has to open to answer. It is to be shown whole, and opened by no one else.
	URL string
}

// Kinds of questions that the library knows.
const (
	QuestionApproval   = "approval"
	QuestionPlain      = "question"
	QuestionOutcome    = "outcome"
	QuestionTimer      = "timer"
	QuestionRun        = "run"
	QuestionWebhook    = "webhook"
	QuestionClientTool = "client_tool"
)

// Answerable is an optional interface of the Info of an interrupt: it refuses a bad answer where it is given, before the
// run continues. An answer that came as JSON is a [runs.JSONReply].
type Answerable interface {
	CheckAnswer(answer any) error
}

func init() {
	schema.RegisterName[runs.JSONReply]("_weft_adk_json_answer")
	schema.RegisterName[*AnswerExpired]("_weft_adk_answer_expired")
}

// AnswerExpired is the answer to a question that was not answered in time (see [Question]).
type AnswerExpired struct {
	// Expired is the time at which the question expired.
	Expired time.Time
}

// Bounds of what a list of questions shows.
const (
	longestSummary = 500
	longestInfo    = 16 << 10
)

// waitPoints returns what the store shows of the questions of a run that stopped, and the Infos themselves by their
// points.
func waitPoints(signal *InterruptSignal, since time.Time) (points []runs.Question, infos map[string]any) {
	infos = map[string]any{}
	for _, c := range interruptContexts(signal) {
		if !c.IsRootCause {
			continue
		}
		q := QuestionOf(c.Info)
		p := runs.Question{ID: c.ID, Address: c.Address.String(), Kind: q.Kind, For: q.For,
			Summary: cutText(q.Summary, longestSummary), Since: since, Expires: q.Expires}
		switch q.Kind {
		case QuestionOutcome, QuestionTimer, QuestionRun:
			p.Optional = true
		}
		p.Info, p.Truncated = infoJSON(c.Info)
		points, infos[c.ID] = append(points, p), c.Info
	}
	return points, infos
}

// QuestionOf returns how the Info of an interrupt is listed: what it says itself (see [Asks]), and otherwise a question of
// kind "question" with its text, if it has one. A panic of the Info is left out.
func QuestionOf(info any) (q Question) {
	switch v := info.(type) {
	case Asks:
		_ = guardHook(func() error { q = v.Asks(); return nil })
	case *OutcomeUnknown:
		q = Question{Kind: QuestionOutcome, Summary: fmt.Sprintf("did the call of tool %q succeed?", v.ToolName)}
	case string:
		q.Summary = v
	case fmt.Stringer:
		_ = guardHook(func() error { q.Summary = v.String(); return nil })
	}
	if q.Kind == "" {
		q.Kind = QuestionPlain
	}
	return q
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

// Shortens is an optional interface of an Info of an interrupt that can be too long for a list, which takes 16 KiB of
// JSON: it returns what is shown instead, with no text of more than a number of bytes. Other Infos that are too long are
// left out.
type Shortens interface{ Shortened(most int) any }

// Shortened implements [Shortens].
func (u *OutcomeUnknown) Shortened(most int) any {
	short := *u
	short.Arguments = cutText(u.Arguments, most)
	return &short
}

// infoJSON returns an Info in the form in which it is shown, and whether it was shortened or left out because it is too
// long. One that cannot be encoded is left out, too.
func infoJSON(info any) (data json.RawMessage, truncated bool) {
	encode := func(info any) error {
		return guardHook(func() (err error) { data, err = json.Marshal(info); return err })
	}
	err := encode(info)
	if s, ok := info.(Shortens); ok && err == nil && len(data) > longestInfo {
		truncated = true
		var short any
		if err = guardHook(func() error { short = s.Shortened(longestInfo / 4); return nil }); err == nil {
			err = encode(short)
		}
	}
	if err != nil || string(data) == "null" {
		return nil, err != nil
	}
	if len(data) > longestInfo {
		return nil, true
	}
	return data, truncated
}

// cutText cuts a text off after a number of bytes, between characters.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// ErrAnswerRefused is matched by the error of an answer that the Info of its question refuses (see [Answerable]).
var ErrAnswerRefused = errors.New("the answer is refused")

// refusedAnswer says what is wrong with an answer.
type refusedAnswer struct {
	point string
	why   error
}

func (e *refusedAnswer) Error() string {
	return fmt.Sprintf("the answer to question %q is refused: %v", e.point, e.why)
}

func (e *refusedAnswer) Unwrap() []error { return []error{ErrAnswerRefused, e.why} }

// CheckAnswers has the questions of a run that waits look at answers before they are put into the inbox of its store: the
// error of those that an [Answerable] Info refuses matches [ErrAnswerRefused]. It reads the checkpoint of the run, and
// changes nothing. A question whose type this program does not register is not asked, nor is a run that it cannot read:
// the process that executes the run can. (C10)
func CheckAnswers(ctx context.Context, store CheckPointStore, id string, answers ...runs.Reply) error {
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
		if value, err := valueOf(a); err == nil {
			values[a.Point] = value
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
		if check, ok := info.(Answerable); ok && decodeErr == nil {
			if why := guardHook(func() error { return check.CheckAnswer(answer) }); why != nil {
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

// EncodeAnswer makes the answer to a question for the inbox of a store (runs.Inbox). point is the ID of the
// interrupt point. The type of the value must be registered; a [runs.JSONReply] need not be. nil says nothing but that the
// run may continue.
func EncodeAnswer(point string, value any) (runs.Reply, error) {
	if raw, ok := value.(runs.JSONReply); ok {
		if !json.Valid(raw) {
			return runs.Reply{}, fmt.Errorf("the answer to question %q is no JSON", point)
		}
		return runs.Reply{Point: point, Data: raw, JSON: true}, nil
	}
	data, err := encodeValue(value, "answer to %q", point)
	return runs.Reply{Point: point, Data: data}, err
}

// valueOf is the opposite of [EncodeAnswer].
func valueOf(a runs.Reply) (any, error) {
	switch {
	case a.JSON:
		return runs.JSONReply(a.Data), nil
	case len(a.Data) == 0:
		return nil, nil
	}
	return decodeValue(a.Data, "answer to %q", a.Point)
}
