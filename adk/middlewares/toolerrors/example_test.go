package toolerrors_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/components/tool"
)

func ExampleNew() {
	ctx := context.Background()
	handler, err := toolerrors.New(ctx, &toolerrors.Config{
		Tell: func(_ context.Context, call *adk.ToolContext, err error) (string, bool) {
			return call.Name + ": no such file, look with ls", errors.Is(err, fs.ErrNotExist)
		},
	})
	if err != nil {
		panic(err)
	}
	for _, broken := range []error{fs.ErrNotExist, errors.New("disk on fire")} {
		read := func(context.Context, string, ...tool.Option) (string, error) { return "", broken }
		call, err := handler.WrapInvokableToolCall(ctx, read, &adk.ToolContext{Name: "read_file"}) // an agent does this
		if err != nil {
			panic(err)
		}
		fmt.Println(call(ctx, `{}`))
	}
	// Output:
	// read_file: no such file, look with ls <nil>
	//  disk on fire
}
