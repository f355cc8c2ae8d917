package storekit

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftgo/weft/runs"
)

// rowVersion is the version of the rows that are written. It grows with every member that an older release must not drop:
// that release refuses the row, and leaves the run to others.
const rowVersion = 1

// Encode writes the row as JSON that [DecodeRow] reads, also in later releases, with a sum that it checks. Names may have
// any bytes: see [Escape]. Times are exact to a microsecond.
func (r *Row) Encode() ([]byte, error) {
	i := &r.Run
	s := savedRow{
		Version: rowVersion, ID: text(i.ID), Agent: text(i.Agent), Queue: text(i.Queue), Parent: text(i.Parent), ParentPoint: text(r.ParentPoint),
		Key: text(i.Key), Status: i.Status, Token: i.Token, Owner: text(i.Owner), LeaseUntil: moment(i.LeaseUntil),
		Priority: i.Priority, Attempts: i.Attempts, Retries: i.Retries, Steps: i.Steps, Bytes: i.Bytes,
		Created: moment(i.Created), Updated: moment(i.Updated), WakeAt: moment(i.WakeAt), Expires: moment(i.Expires),
		Deadline: moment(i.Deadline), Usage: i.Usage, Build: text(i.Build), Trace: text(i.Trace), Error: text(i.Error),
		Born: r.Born, TTL: r.TTL, Taken: r.Taken, TakenSteps: r.TakenSteps, Result: r.Result,
	}
	if len(i.Tags) > 0 {
		s.Tags = make(map[string]text, len(i.Tags))
		for key, value := range i.Tags {
			s.Tags[Escape(key)] = text(value)
		}
	}
	for _, p := range i.Waiting {
		q := savedQuestion{ID: text(p.ID), Address: text(p.Address), Kind: text(p.Kind), Agent: text(p.Agent), Tool: text(p.Tool),
			Call: text(p.Call), Arguments: text(p.Arguments), Summary: text(p.Text), Schema: p.Schema, URL: text(p.URL), Info: p.Info,
			InfoType: text(p.InfoType), Truncated: p.Truncated, Optional: p.Optional, Since: moment(p.Since),
			Expires: moment(p.Expires), Answered: p.Answered}
		for _, whom := range p.For {
			q.For = append(q.For, text(whom))
		}
		s.Waiting = append(s.Waiting, q)
	}
	for _, a := range r.Answers {
		s.Answers = append(s.Answers, savedReply{Point: text(a.To), Data: a.Data, JSON: a.JSON, By: text(a.By), At: moment(a.At)})
	}
	if stop := r.Stopping; stop != nil {
		s.Stopping = &savedStop{stop.Immediate, stop.Timeout, text(stop.Reason), text(stop.By), stop.Children}
	}
	s.Sum = noSum
	data, err := json.Marshal(&s)
	if err == nil {
		hex.Encode(data[len(beforeSum):], sumOf(data))
	}
	return data, err
}

// A row begins with its sum: the CRC-32C of all that stands behind it.
const (
	noSum     = "00000000"
	beforeSum = `{"sum":"`
	behindSum = len(beforeSum) + len(noSum)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(data []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(data[behindSum:], castagnoli))
}

// checkSum refuses a row that is not what was written.
func checkSum(data []byte) error {
	if !strings.HasPrefix(string(data[:min(len(data), len(beforeSum))]), beforeSum) || len(data) < behindSum {
		return fmt.Errorf("%w: it is damaged, or was written by an older Weft: remove the run", runs.ErrUnreadable)
	}
	if hex.EncodeToString(sumOf(data)) != string(data[len(beforeSum):behindSum]) {
		return fmt.Errorf("%w: its sum is wrong", runs.ErrUnreadable)
	}
	return nil
}

// DecodeRow reads what [Row.Encode] wrote. The error matches [runs.ErrUnreadable].
func DecodeRow(data []byte) (*Row, error) {
	if err := checkSum(data); err != nil {
		return nil, err
	}
	var s savedRow
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", runs.ErrUnreadable, err)
	}
	if s.Version > rowVersion {
		return nil, fmt.Errorf("%w: %w: it has version %d, and at most version %d is known", runs.ErrUnreadable, runs.ErrNewerFormat,
			s.Version, rowVersion)
	}
	r := &Row{ParentPoint: string(s.ParentPoint), Born: s.Born, TTL: s.TTL, Taken: s.Taken, TakenSteps: s.TakenSteps,
		Result: s.Result, Run: runs.Info{
			ID: string(s.ID), Agent: string(s.Agent), Queue: string(s.Queue), Parent: string(s.Parent), Key: string(s.Key),
			Status: s.Status, Token: s.Token, Owner: string(s.Owner), LeaseUntil: time.Time(s.LeaseUntil), Priority: s.Priority,
			Attempts: s.Attempts, Retries: s.Retries, Steps: s.Steps, Bytes: s.Bytes, Created: time.Time(s.Created),
			Updated: time.Time(s.Updated), WakeAt: time.Time(s.WakeAt), Expires: time.Time(s.Expires),
			Deadline: time.Time(s.Deadline), Usage: s.Usage, Build: string(s.Build), Trace: string(s.Trace),
			Error: string(s.Error)}}
	if len(s.Tags) > 0 {
		r.Run.Tags = make(map[string]string, len(s.Tags))
		for key, value := range s.Tags {
			r.Run.Tags[Unescape(key)] = string(value)
		}
	}
	for _, q := range s.Waiting {
		p := runs.Question{ID: string(q.ID), Address: string(q.Address), Kind: runs.Kind(q.Kind), Agent: string(q.Agent),
			Tool: string(q.Tool), Call: string(q.Call), Arguments: string(q.Arguments), Text: string(q.Summary), Schema: q.Schema,
			URL: string(q.URL), Info: q.Info, InfoType: string(q.InfoType), Truncated: q.Truncated, Optional: q.Optional,
			Since: time.Time(q.Since), Expires: time.Time(q.Expires), Answered: q.Answered}
		for _, whom := range q.For {
			p.For = append(p.For, string(whom))
		}
		r.Run.Waiting = append(r.Run.Waiting, p)
	}
	for _, a := range s.Answers {
		r.Answers = append(r.Answers, runs.Reply{To: string(a.Point), Data: a.Data, JSON: a.JSON, By: string(a.By), At: time.Time(a.At)})
	}
	if stop := s.Stopping; stop != nil {
		r.Stopping = &runs.StopRequest{Immediate: stop.Immediate, Timeout: stop.Timeout, Reason: string(stop.Reason),
			By: string(stop.By), Children: stop.Children}
	}
	return r, nil
}

// savedRow is a row as it is written. Members are added, with a new rowVersion if an older release must not drop them,
// and none is given another meaning. Usage may be dropped: who executes the run next has it from its record.
type savedRow struct {
	Sum         string          `json:"sum"` // it is the first one
	Version     int             `json:"v"`
	ID          text            `json:"id,omitempty"`
	Agent       text            `json:"agent,omitempty"`
	Queue       text            `json:"queue,omitempty"`
	Parent      text            `json:"parent,omitempty"`
	ParentPoint text            `json:"parent_point,omitempty"`
	Key         text            `json:"key,omitempty"`
	Status      runs.Status     `json:"status,omitempty"`
	Token       uint64          `json:"token,omitempty"`
	Owner       text            `json:"owner,omitempty"`
	LeaseUntil  moment          `json:"lease_until,omitzero"`
	Priority    int             `json:"priority,omitempty"`
	Attempts    int             `json:"attempts,omitempty"`
	Retries     int             `json:"retries,omitempty"`
	Steps       int             `json:"steps,omitempty"`
	Bytes       int64           `json:"bytes,omitempty"`
	Created     moment          `json:"created,omitzero"`
	Updated     moment          `json:"updated,omitzero"`
	WakeAt      moment          `json:"wake_at,omitzero"`
	Expires     moment          `json:"expires,omitzero"`
	Deadline    moment          `json:"deadline,omitzero"`
	Usage       runs.Usage      `json:"usage,omitzero"`
	Build       text            `json:"build,omitempty"`
	Trace       text            `json:"trace,omitempty"`
	Error       text            `json:"error,omitempty"`
	Tags        map[string]text `json:"tags,omitempty"`
	Waiting     []savedQuestion `json:"waiting,omitempty"`
	Born        uint64          `json:"born,omitempty"`
	TTL         time.Duration   `json:"ttl,omitempty"`
	Taken       runs.Status     `json:"taken,omitempty"`
	TakenSteps  int             `json:"taken_steps,omitempty"`
	Answers     []savedReply    `json:"answers,omitempty"`
	Result      []byte          `json:"result,omitempty"`
	Stopping    *savedStop      `json:"stopping,omitempty"`
}

type savedQuestion struct {
	ID        text            `json:"id,omitempty"`
	Address   text            `json:"address,omitempty"`
	Kind      text            `json:"kind,omitempty"`
	Agent     text            `json:"agent,omitempty"`
	Tool      text            `json:"tool,omitempty"`
	Call      text            `json:"call,omitempty"`
	Arguments text            `json:"arguments,omitempty"`
	For       []text          `json:"for,omitempty"`
	Summary   text            `json:"summary,omitempty"` // Text
	Schema    json.RawMessage `json:"schema,omitempty"`
	URL       text            `json:"url,omitempty"`
	Info      json.RawMessage `json:"info,omitempty"`
	InfoType  text            `json:"info_type,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Optional  bool            `json:"optional,omitempty"`
	Since     moment          `json:"since,omitzero"`
	Expires   moment          `json:"expires,omitzero"`
	Answered  bool            `json:"answered,omitempty"`
}

type savedReply struct {
	Point text   `json:"point,omitempty"`
	Data  []byte `json:"data"` // null is none, and "" an empty one
	JSON  bool   `json:"json,omitempty"`
	By    text   `json:"by,omitempty"`
	At    moment `json:"at,omitzero"`
}

type savedStop struct {
	Immediate bool          `json:"immediate,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
	Reason    text          `json:"reason,omitempty"`
	By        text          `json:"by,omitempty"`
	Children  bool          `json:"children,omitempty"`
}

// text is written escaped: JSON has no place for bytes that are not UTF-8.
type text string

func (t text) MarshalText() ([]byte, error) { return []byte(Escape(string(t))), nil }

func (t *text) UnmarshalText(data []byte) error {
	*t = text(Unescape(string(data)))
	return nil
}

// moment is written as microseconds since 1970.
type moment time.Time

func (m moment) IsZero() bool { return time.Time(m).IsZero() }

func (m moment) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, Micros(time.Time(m)), 10), nil
}

func (m *moment) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(string(data), 10, 64)
	*m = moment(time.UnixMicro(n))
	return err
}

// Micros is a time in microseconds since 1970: the first or the last that there is, if it is before or after all of them.
func Micros(t time.Time) int64 {
	const most = math.MaxInt64/1_000_000 - 1
	switch s := t.Unix(); {
	case s > most:
		return math.MaxInt64
	case s < -most:
		return math.MinInt64
	}
	return t.UnixMicro()
}

// Escape writes any bytes as text that every database takes: control characters, '%' and what is not UTF-8 are %XX.
func Escape(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r < 0x20 || r == 0x7f || r == '%' || r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "%%%02X", s[i])
			size = 1
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// isPlain reports whether the text is its own escaped form.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '%' {
			return false
		}
	}
	return true
}

// Unescape reads what [Escape] wrote.
func Unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
