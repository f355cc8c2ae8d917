package tooltimeout_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/tooltimeout"
	"github.com/weftgo/weft/components/tool"
)

func ExampleNew() {
	ctx := context.Background()
	handler, err := tooltimeout.New(ctx, &tooltimeout.Config{Timeout: time.Millisecond})
	if err != nil {
		panic(err)
	}
	hangs := func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	call, err := handler.WrapInvokableToolCall(ctx, hangs, &adk.ToolContext{Name: "search"}) // an agent does this
	if err != nil {
		panic(err)
	}
	_, err = call(ctx, `{}`)
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// the call of tool 'search' took longer than 1ms and was given up
	// true
}
