package local

import (
	"sync/atomic"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/schema"
)

// freshOutput signals the reader of a stream that there is output to take. At most one such message is on its way, so
// that what comes while the reader is busy makes one chunk.
type freshOutput struct {
	sw        *schema.StreamWriter[chunk]
	announced atomic.Bool
}

func (f *freshOutput) announce(out *output) {
	if f.announced.Swap(true) {
		return
	}
	f.sw.Send(func() (*filesystem.ExecuteResponse, error) {
		f.announced.Store(false) // before taking: what comes after that is announced again
		s := out.take()
		if s == "" {
			return nil, schema.ErrNoValue
		}
		return &filesystem.ExecuteResponse{Output: s}, nil
	}, nil)
}
