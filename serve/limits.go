package serve

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/schema"
)

// starts counts the runs that principals start, minute by minute.
type starts struct {
	mu     sync.Mutex // guards the fields below
	minute time.Time
	counts map[string]int
}

// allow counts one more, or returns when the next one is allowed.
func (s *starts) allow(owner string, most int) (after time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if since := now.Sub(s.minute); since >= time.Minute || since < 0 {
		s.minute, s.counts = now, map[string]int{}
	}
	if s.counts[owner] >= most {
		return time.Minute - now.Sub(s.minute), false
	}
	s.counts[owner]++
	return 0, true
}

// load knows how many runs are executed or due, of all processes. It asks the store now and then, and counts what is
// started here in between.
type load struct {
	mu    sync.Mutex // guards the fields below
	asked time.Time
	runs  int
}

// askLoad is how often the store is asked.
const askLoad = 250 * time.Millisecond

// add counts a run that is to be started, and reports whether there is room for it.
func (l *load) add(ctx context.Context, runs executor, most int) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) > askLoad {
		n, err := count(ctx, runs, checkpoint.Query{Limit: most}, executedOrDue...)
		if err != nil {
			return false, err
		}
		l.asked, l.runs = time.Now(), n
	}
	if l.runs >= most {
		return false, nil
	}
	l.runs++
	return true, nil
}

// executedOrDue are the statuses of runs that cost something now.
var executedOrDue = []checkpoint.Status{checkpoint.Ready, checkpoint.Running}

// count counts the runs of a query in one of the statuses.
func count(ctx context.Context, runs executor, q checkpoint.Query, in ...checkpoint.Status) (n int, err error) {
	q.Status = in
	for _, err := range runs.List(ctx, q) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// checkMessages refuses messages that are too many, too long, or of somebody for whom a client cannot speak.
func (s *Server) checkMessages(messages []*schema.Message, trust bool) error {
	l := s.settings.limits
	switch {
	case len(messages) == 0:
		return NewProblem(BadRequest, "there is no message")
	case len(messages) > l.Messages:
		return NewProblem(TooLarge, "there are more than %d messages", l.Messages)
	}
	for i, m := range messages {
		if m == nil {
			return NewProblem(BadRequest, "message %d is null", i)
		}
		if m.Role != schema.User && !trust {
			return NewProblem(BadRequest, "message %d is of role %q: a client sends messages of role user only", i, m.Role)
		}
		switch m.Role {
		case schema.User, schema.Assistant, schema.Tool, schema.System:
		default:
			return NewProblem(BadRequest, "message %d is of role %.32q: there are user, assistant, tool and system", i, m.Role)
		}
		text, media := len(m.Content)+len(m.ReasoningContent), 0
		for _, c := range m.ToolCalls {
			text += len(c.Function.Arguments)
		}
		for _, p := range m.UserInputMultiContent {
			text += len(p.Text)
			size, err := checkMedia(p)
			if err != nil {
				return err
			}
			media += size
		}
		if media > l.MediaBytes {
			return NewProblem(TooLarge, "message %d has media of more than %d bytes", i, l.MediaBytes)
		}
		if text > l.MessageBytes {
			return NewProblem(TooLarge, "message %d is longer than %d bytes", i, l.MessageBytes)
		}
		//lint:ignore SA1019 clients could send it
		if m.Extra != nil || len(m.MultiContent) > 0 {
			return NewProblem(BadRequest, "message %d has fields that clients do not send", i)
		}
	}
	return nil
}

// checkMedia refuses URLs that are not for the models: the server fetches none of them, but a provider may. It returns how
// many bytes the media in base64 have.
func checkMedia(p schema.MessageInputPart) (size int, err error) {
	var media schema.MessagePartCommon
	switch {
	case p.Image != nil:
		media = p.Image.MessagePartCommon
	case p.Audio != nil:
		media = p.Audio.MessagePartCommon
	case p.Video != nil:
		media = p.Video.MessagePartCommon
	case p.File != nil:
		media = p.File.MessagePartCommon
	}
	if media.URL != nil && *media.URL != "" && !strings.HasPrefix(*media.URL, "https://") {
		return 0, NewProblem(BadRequest, "media are given by https URLs, or in base64")
	}
	if media.Base64Data != nil {
		size = len(*media.Base64Data) / 4 * 3
	}
	return size, nil
}
