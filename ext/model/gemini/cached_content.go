package gemini

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// CacheConfig says how long the service keeps a prefix: for a time or until a time. Default: what the service says, an
// hour when this was written.
type CacheConfig struct {
	TTL        time.Duration
	ExpireTime time.Time
}

// CachedContent is a prefix that the service keeps.
type CachedContent struct {
	// Name is the name for [WithCachedContentName].
	Name       string    `json:"name"`
	Model      string    `json:"model"`
	CreateTime time.Time `json:"createTime"`
	ExpireTime time.Time `json:"expireTime"`
	// UsageMetadata counts what is kept.
	UsageMetadata struct {
		TotalTokenCount int `json:"totalTokenCount"`
	} `json:"usageMetadata"`
}

func (e *engine) createPrefixCache(
	ctx context.Context, prefix []*schema.AgenticMessage, opts []model.Option,
) (_ *CachedContent, err error) {
	defer e.info.Redactor.Recover(&err)
	c := &call{e: e, o: e.options(opts)}
	c.model = *c.o.common.Model
	c.unsupported.Drop = true // settings of answers are not sent
	body := kit.Object{{Key: "model", Value: e.resourceName(c.model)}}
	if err := c.setPrefix(&body, prefix); err != nil {
		return nil, e.failure(err)
	}
	if cache := c.o.Cache; cache != nil && cache.TTL > 0 {
		body.Set("ttl", strconv.FormatFloat(cache.TTL.Seconds(), 'f', -1, 64)+"s")
	} else if cache != nil && !cache.ExpireTime.IsZero() {
		body.Set("expireTime", cache.ExpireTime.UTC().Format(time.RFC3339Nano))
	}
	made := new(CachedContent)
	return made, c.ask(ctx, e.below("cachedContents"), body, made)
}

// setPrefix sets what the service keeps. A prefix may be nothing but a system instruction and tools.
func (c *call) setPrefix(body *kit.Object, prefix []*schema.AgenticMessage) error {
	contents, err := c.contents(prefix)
	var history *kit.HistoryError
	if errors.As(err, &history) && len(prefix) > 0 && onlySystem(prefix) {
		contents, err = c.contents(append(prefix[:len(prefix):len(prefix)], schema.UserAgenticMessage("-")))
		if err == nil {
			contents.turns = nil
		}
	}
	if err != nil {
		return err
	}
	if len(contents.turns) > 0 {
		body.Set("contents", contents.list())
	}
	if len(contents.system) > 0 {
		body.Set("systemInstruction", kit.Object{{Key: "parts", Value: contents.system}})
	}
	return c.setTools(body)
}

func onlySystem(in []*schema.AgenticMessage) bool {
	for _, m := range in {
		if m == nil || m.Role != schema.AgenticRoleTypeSystem {
			return false
		}
	}
	return true
}

// resourceName returns the whole name of a model, as it stands in requests.
func (e *engine) resourceName(model string) string { return e.modelPath(model) }

// DeleteCachedContent has the service forget a prefix.
func (m *resources) DeleteCachedContent(ctx context.Context, name string) (err error) {
	defer m.engine.info.Redactor.Recover(&err)
	return m.engine.call(ctx, http.MethodDelete, name, nil, nil)
}

// ask sends a request whose answer is one JSON document.
func (c *call) ask(ctx context.Context, path string, body kit.Object, into any) error {
	resp, err := c.post(ctx, path, body, false)
	if err != nil {
		return err
	}
	return resp.Decode(into)
}

// call is call.ask without the settings of a call. A path of the service's own is refused unless it is one.
func (e *engine) call(ctx context.Context, method, path string, body []byte, into any) error {
	if !modelName.MatchString(strings.Split(path, ":")[0]) {
		return e.failure(errors.New("the name of the resource has characters that no name has"))
	}
	return e.client.Exchange(ctx, kit.Request{Method: method, Path: path, Body: body}, into)
}
