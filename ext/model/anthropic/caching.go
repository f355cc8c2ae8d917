package anthropic

import (
	"fmt"
	"maps"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// AutoCache says what the adapter marks for the prompt cache, beside what the application marks. Writing into the cache
// costs more than sending, reading from it much less.
type AutoCache string

const (
	// AutoCacheServer leaves it to the server, for conversations that grow. Services that cannot do it get the marks of
	// [AutoCacheExplicit].
	AutoCacheServer AutoCache = "server"
	// AutoCacheExplicit marks the tools, the system prompt, and the last two turns of the user.
	AutoCacheExplicit AutoCache = "explicit"
)

// CacheTTL is the time for which a part of the prompt stays in the cache after its last use.
type CacheTTL string

// The times that the API knows. The default is 5 minutes.
const (
	CacheTTL5m CacheTTL = "5m"
	CacheTTL1h CacheTTL = "1h"
)

func (t CacheTTL) valid() bool { return t == "" || t == CacheTTL5m || t == CacheTTL1h }

// wire is a marker.
func (t CacheTTL) wire() kit.Object {
	o := kit.Object{{Key: "type", Value: "ephemeral"}}
	if t == CacheTTL1h {
		o.Set("ttl", string(t))
	}
	return o
}

// CacheControl says how a part of the prompt is cached.
type CacheControl struct{ TTL CacheTTL }

// cacheKey is the key of Extra that marks a message, a block, a part or a tool. Its value is a [CacheTTL] as a string.
const cacheKey = "anthropic_cache_control"

func marked(extra map[string]any, control *CacheControl) map[string]any {
	ttl := CacheTTL5m
	if control != nil && control.TTL != "" {
		ttl = control.TTL
	}
	with := maps.Clone(extra)
	if with == nil {
		with = make(map[string]any, 1)
	}
	with[cacheKey] = string(ttl)
	return with
}

// SetMessageCacheControl returns a copy of the message up to whose end the prompt is cached. Nil is for 5 minutes.
func SetMessageCacheControl(m *schema.Message, control *CacheControl) *schema.Message {
	c := *m
	c.Extra = marked(m.Extra, control)
	return &c
}

// SetMessageBreakpoint is [SetMessageCacheControl] for 5 minutes.
func SetMessageBreakpoint(m *schema.Message) *schema.Message { return SetMessageCacheControl(m, nil) }

// SetAgenticMessageCacheControl returns a copy of the message up to whose end the prompt is cached. Nil is for 5
// minutes.
func SetAgenticMessageCacheControl(m *schema.AgenticMessage, control *CacheControl) *schema.AgenticMessage {
	c := *m
	c.Extra = marked(m.Extra, control)
	return &c
}

// SetContentBlockCacheControl returns a copy of the block up to whose end the prompt is cached. Nil is for 5 minutes.
func SetContentBlockCacheControl(b *schema.ContentBlock, control *CacheControl) *schema.ContentBlock {
	c := *b
	c.Extra = marked(b.Extra, control)
	return &c
}

// SetToolInfoCacheControl returns a copy of the tool up to which, in the list of tools, the prompt is cached. Nil is
// for 5 minutes.
func SetToolInfoCacheControl(t *schema.ToolInfo, control *CacheControl) *schema.ToolInfo {
	c := *t
	c.Extra = marked(t.Extra, control)
	return &c
}

// SetToolInfoBreakpoint is [SetToolInfoCacheControl] for 5 minutes.
func SetToolInfoBreakpoint(t *schema.ToolInfo) *schema.ToolInfo {
	return SetToolInfoCacheControl(t, nil)
}

// maxMarkers is the number of markers that a request may have, the marker of the server's own caching included.
const maxMarkers = 4

// setCaching puts the markers into the request: the application's, which are in the pieces already, and as many of the
// automatic ones as there is room for.
func (b *builder) setCaching(body *kit.Object) error {
	pieces := b.pieces()
	moveMarkers(pieces)
	count := 0
	for _, p := range pieces {
		if p.cache != "" {
			count++
		}
	}
	if count > maxMarkers {
		return fmt.Errorf("%d parts of the prompt are marked for the cache: the API takes at most %d", count, maxMarkers)
	}
	switch {
	case b.o.AutoCache == AutoCacheServer && !b.omits("cache_control"):
		if count < maxMarkers {
			body.Set("cache_control", b.o.CacheTTL.wire())
			pieces = append(pieces, &piece{cache: b.o.CacheTTL}) // it stands for the end
		}
	case b.o.AutoCache != "":
		for _, p := range b.automatic() {
			if p != nil && p.cache == "" && count < maxMarkers {
				p.cache = CacheTTL(or(string(b.o.CacheTTL), string(CacheTTL5m)))
				count++
			}
		}
	}
	return orderOfTTLs(pieces)
}

// orderOfTTLs returns an error if something is cached for longer than what stands before it.
func orderOfTTLs(pieces []*piece) error {
	short := false
	for _, p := range pieces {
		if p.cache == CacheTTL1h && short {
			return fmt.Errorf("a part of the prompt is cached for 1h behind one that is cached for 5m: the API wants " +
				"the longer first, so use 1h for both, or change CacheTTL")
		}
		short = short || p.cache == CacheTTL5m
	}
	return nil
}

// moveMarkers moves the markers of pieces that cannot carry one to the nearest before them that can.
func moveMarkers(pieces []*piece) {
	var last *piece
	for _, p := range pieces {
		switch {
		case p.cacheable():
			last = p
		case p.cache != "":
			if last != nil && last.cache == "" {
				last.cache = p.cache
			}
			p.cache = ""
		}
	}
}

// automatic returns the pieces to mark in the order of their worth: the ends of the last two turns of the user, of the
// system prompt and of the tools.
func (b *builder) automatic() []*piece {
	var marks []*piece
	for i := len(b.turns) - 1; i >= 0 && len(marks) < 2; i-- {
		if t := b.turns[i]; t.role == roleUser {
			if p := lastCacheable(t.all()); p != nil {
				marks = append(marks, p)
			}
		}
	}
	return append(marks, lastCacheable(b.system), lastCacheable(b.tools))
}

func lastCacheable(pieces []*piece) *piece {
	for i := len(pieces) - 1; i >= 0; i-- {
		if pieces[i].cacheable() {
			return pieces[i]
		}
	}
	return nil
}

// pieces returns everything that may be marked, in the order of the prompt.
func (b *builder) pieces() []*piece {
	all := append(append([]*piece{}, b.tools...), b.system...)
	for _, t := range b.turns {
		all = append(all, t.all()...)
	}
	return all
}

// ttlOf returns the mark of an Extra.
func ttlOf(extra map[string]any) CacheTTL {
	ttl, _ := extra[cacheKey].(string)
	return CacheTTL(strings.TrimSpace(ttl))
}
