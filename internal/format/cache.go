package format

import "sync"

const (
	// maxCached is the number of templates that one generation of the cache holds.
	maxCached = 256
	// maxCachedText is the length up to which a template is worth keeping: longer ones are mostly data.
	maxCachedText = 64 << 10
)

// compiled holds the templates that are in use.
var compiled cache

type cacheKey struct {
	language Language
	text     string
}

// cache keeps templates in two generations. When the young one is full it becomes the old one, and what is not used
// again by the time the next is full is dropped.
type cache struct {
	mu         sync.RWMutex
	young, old map[cacheKey]Template
}

// get returns the compiled template, from the cache or by compiling it.
func (c *cache) get(language Language, text string) (Template, error) {
	if len(text) > maxCachedText {
		return compile(language, text)
	}
	key := cacheKey{language, text}
	c.mu.RLock()
	t, young := c.young[key]
	if !young {
		t = c.old[key]
	}
	c.mu.RUnlock()
	if young {
		return t, nil
	}
	if t == nil {
		var err error
		if t, err = compile(language, text); err != nil {
			return nil, err
		}
	}
	c.put(key, t)
	return t, nil
}

func (c *cache) put(key cacheKey, t Template) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || len(c.young) >= maxCached {
		c.old, c.young = c.young, make(map[cacheKey]Template, maxCached)
	}
	c.young[key] = t
}
