package llm

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// Model is the model of Open, or a demo model with these lines. It says on standard error which one it is. What keeps it
// from being opened is the error of its calls.
func Model(lines ...demo.Line) model.BaseChatModel {
	m, which, err := Open(context.Background(), &demo.Model{Answer: demo.Script(lines...), Pace: 20 * time.Millisecond})
	if err != nil {
		return &demo.Model{Answer: func(context.Context, []*schema.Message) (*schema.Message, error) { return nil, err }}
	}
	fmt.Fprintln(os.Stderr, which)
	return m
}
