// A chat loop that resumes what waited for an approval.
package genresume

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

type (
	loop   = adk.TurnLoop[string, *schema.Message]
	result = adk.GenResumeResult[string, *schema.Message]
	config = adk.TurnLoopConfig[string, *schema.Message]
)

var errNoAnswer = errors.New("no approval among the messages")

func byLiteral() config {
	return config{
		GenResume: func(_ context.Context, _ *loop, interrupted, unhandled, fresh []string) (*result, error) {
			if len(fresh) == 0 {
				return nil, errNoAnswer // want `when GenResume fails, Weft keeps the saved run`
			}
			return &result{Consumed: interrupted, Remaining: append(unhandled, fresh...)}, nil
		},
	}
}

type session struct{ approvals map[string]bool }

func (s *session) resume(_ context.Context, _ *loop, interrupted, _, fresh []string) (*result, error) {
	params, err := s.params(fresh)
	if err != nil {
		return nil, err // want `when GenResume fails, Weft keeps the saved run`
	}
	return &result{ResumeParams: params, Consumed: interrupted}, nil
}

func (s *session) params([]string) (*adk.ResumeParams, error) { return nil, errNoAnswer }

func byMethod(s *session) config { return config{GenResume: s.resume} }

// decided knows of Weft's way out.
func decided() config {
	return config{
		GenResume: func(_ context.Context, l *loop, interrupted, _, fresh []string) (*result, error) {
			if len(fresh) == 0 {
				l.Stop(adk.WithSkipCheckpoint())
				return nil, errNoAnswer
			}
			return &result{Consumed: interrupted}, nil
		},
	}
}

// never fails.
func never() config {
	return config{
		GenResume: func(_ context.Context, _ *loop, interrupted, _, _ []string) (*result, error) {
			return &result{Consumed: interrupted}, nil
		},
	}
}

// assigned sets the field later.
func assigned(s *session) config {
	var c config
	c.GenResume = s.again
	return c
}

func (s *session) again(ctx context.Context, l *loop, interrupted, _, fresh []string) (*result, error) {
	return s.resume(ctx, l, interrupted, nil, fresh)
}

func (s *session) once(context.Context, *loop, []string, []string, []string) (r *result, err error) {
	if len(s.approvals) == 0 {
		err = errNoAnswer // want `when GenResume fails, Weft keeps the saved run`
		return
	}
	return &result{}, nil
}

func named(s *session) config { return config{GenResume: s.once} }
