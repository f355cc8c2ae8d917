package sqlrun

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftgo/weft/adk/checkpoint"
)

const (
	longestSummary = 500
	longestInfo    = 16 << 10
)

// question is a point that a run waits for, with the answer if it has one.
type question struct {
	checkpoint.WaitPoint
	ord    int64
	answer *checkpoint.Answer
}

// savedQuestion is what is written of a question. All text but the info is escaped.
type savedQuestion struct {
	ID        string          `json:"id,omitempty"`
	Address   string          `json:"address,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	For       []string        `json:"for,omitempty"`
	Summary   string          `json:"summary,omitempty"`
	Info      json.RawMessage `json:"info,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Optional  bool            `json:"optional,omitempty"`
	Since     time.Time       `json:"since,omitzero"`
	Expires   time.Time       `json:"expires,omitzero"`
}

func saveQuestion(p *checkpoint.WaitPoint) ([]byte, error) {
	q := savedQuestion{ID: escape(p.ID), Address: escape(p.Address), Kind: escape(p.Kind),
		Summary: escape(cut(p.Summary)), Info: p.Info, Truncated: p.Truncated, Optional: p.Optional, Since: p.Since,
		Expires: p.Expires}
	for _, whom := range p.For {
		q.For = append(q.For, escape(whom))
	}
	if len(q.Info) > longestInfo || len(q.Info) > 0 && !json.Valid(q.Info) {
		q.Info, q.Truncated = nil, true
	}
	return json.Marshal(q)
}

// cut shortens a summary between two runes.
func cut(s string) string {
	if len(s) <= longestSummary {
		return s
	}
	end := longestSummary
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

func (q *question) read(data []byte) error {
	var s savedQuestion
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("a question cannot be read: %w", err)
	}
	q.WaitPoint = checkpoint.WaitPoint{ID: unescape(s.ID), Address: unescape(s.Address), Kind: unescape(s.Kind),
		Summary: unescape(s.Summary), Info: s.Info, Truncated: s.Truncated, Optional: s.Optional, Since: s.Since,
		Expires: s.Expires}
	for _, whom := range s.For {
		q.For = append(q.For, unescape(whom))
	}
	return nil
}

// ask replaces the questions of a run. The row has to be saved.
func (t *transaction) ask(ctx context.Context, r *row, waiting []checkpoint.WaitPoint) error {
	if r.asks > 0 {
		for _, table := range []string{"{questions}", "{waiters}"} {
			if _, err := t.exec(ctx, `DELETE FROM `+table+` WHERE run = $1`, r.no); err != nil {
				return err
			}
		}
	}
	r.asks = int64(len(waiting))
	for i := range waiting {
		p := &waiting[i]
		data, err := saveQuestion(p)
		if err != nil {
			return fmt.Errorf("question %q: %w", p.ID, err)
		}
		_, err = t.exec(ctx, `INSERT INTO {questions} (run, ord, kind, answered, question) VALUES ($1, $2, $3, 0, $4)`,
			r.no, i, escape(p.Kind), data)
		if err != nil {
			return err
		}
		for _, whom := range p.For {
			_, err := t.exec(ctx, `INSERT INTO {waiters} (run, ord, whom, tenant) VALUES ($1, $2, $3, $4)
				ON CONFLICT (run, ord, whom) DO NOTHING`, r.no, i, encode(whom), t.tenant)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readQuestions reads the questions of runs, by their numbers.
func readQuestions(ctx context.Context, from querier, s *Store, runs []int64) (map[int64][]question, error) {
	found := map[int64][]question{}
	if len(runs) == 0 {
		return found, nil
	}
	var list strings.Builder
	for i, no := range runs {
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprint(&list, no)
	}
	rows, err := from.QueryContext(ctx, s.writer.write(`SELECT run, ord, answered, question, answer, answer_by,
		answer_json, answered_at FROM {questions} WHERE run IN (`+list.String()+`) ORDER BY run, ord`))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		no, q, err := scanQuestion(rows)
		if err != nil {
			return nil, err
		}
		found[no] = append(found[no], q)
	}
	return found, rows.Err()
}

func scanQuestion(rows *sql.Rows) (run int64, q question, err error) {
	var answered int64
	var data, answer []byte
	var by sql.NullString
	var isJSON, when sql.NullInt64
	if err := rows.Scan(&run, &q.ord, &answered, &data, &answer, &by, &isJSON, &when); err != nil {
		return 0, q, err
	}
	if err := q.read(data); err != nil {
		return 0, q, err
	}
	if q.Answered = answered == 1; q.Answered {
		q.answer = &checkpoint.Answer{Point: q.ID, Data: answer, JSON: isJSON.Int64 == 1, By: unescape(by.String),
			At: at(when.Int64)}
	}
	return run, q, nil
}

// questions reads those of a run that is locked.
func (t *transaction) questions(ctx context.Context, r *row) ([]question, error) {
	if r.asks == 0 {
		return nil, nil
	}
	found, err := readQuestions(ctx, t.tx, t.Store, []int64{r.no})
	return found[r.no], err
}

// waiting is questions as they are shown.
func (t *transaction) waiting(ctx context.Context, r *row) ([]checkpoint.WaitPoint, error) {
	questions, err := t.questions(ctx, r)
	return pointsOf(questions), err
}

func pointsOf(questions []question) (points []checkpoint.WaitPoint) {
	for i := range questions {
		points = append(points, questions[i].WaitPoint)
	}
	return points
}
