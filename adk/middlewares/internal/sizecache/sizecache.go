// Package sizecache remembers the sizes of things that do not change, such as tool descriptions and parts of messages.
//
// Middlewares that estimate tokens before every call of the model (reduction, summarization) measure each thing once
// with it. It must never keep alive what it measured.
package sizecache

import (
	"runtime"
	"sync"
	"weak"

	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/schema"
)

// Cache has the sizes of values of type T, by their address. It is safe for concurrent use; the zero Cache is empty.
type Cache[T any] struct{ sizes sync.Map } // weak.Pointer[T] → int

// Of returns the size of *p, measured when it is asked for the first time. p must not be nil.
func (c *Cache[T]) Of(p *T, measure func(*T) int) int {
	key := weak.Make(p)
	if size, ok := c.sizes.Load(key); ok {
		return size.(int)
	}
	size := measure(p)
	if _, known := c.sizes.LoadOrStore(key, size); !known {
		runtime.AddCleanup(p, func(gone weak.Pointer[T]) { c.sizes.Delete(gone) }, key)
	}
	return size
}

// Tools estimates how many tokens the descriptions of tools take. The zero Tools is ready for use.
type Tools struct{ cache Cache[schema.ToolInfo] }

// bytesPerToken is the average number of bytes of a token.
const bytesPerToken = 4

// Tokens estimates the tokens of tools: a fourth of the bytes of each as JSON, without Extra.
func (t *Tools) Tokens(infos []*schema.ToolInfo) (total int) {
	for _, info := range infos {
		if info != nil {
			total += t.cache.Of(info, jsonSize) / bytesPerToken
		}
	}
	return total
}

func jsonSize(info *schema.ToolInfo) int {
	doc, err := json.Marshal(schema.ToolInfo{Name: info.Name, Desc: info.Desc, ParamsOneOf: info.ParamsOneOf})
	if err != nil {
		return len(info.Name) + len(info.Desc)
	}
	return len(doc)
}
