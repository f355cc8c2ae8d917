package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weftgo/weft/runs"
)

// making describes how a run is made: by a start, or a fork.
type making struct {
	id string
	// tags are the tags of the run. With an idempotency key, they have what is compared when the request is sent again.
	tags map[string]string
	// make makes the run. It may fail with runs.ErrExists.
	make func() (runs.Info, error)
	// then is done with the run, whether it was made now or by the same request before. nil is nothing.
	then func(Run) (Run, error)
}

// makeRun makes a run, once for a request that is sent again, and not while the server shuts down.
func (c *Caller) makeRun(ctx context.Context, m making) (run Run, err error) {
	release, err := c.server.enter()
	if err != nil {
		return Run{}, err
	}
	defer release()
	exists := false
	if m.tags[tagBody] != "" { // a run that there is already is not made, whatever the limits are
		run, exists, err = c.sameRun(ctx, m.id, m.tags)
	}
	if !exists && err == nil {
		run, err = c.makeNew(ctx, m)
	}
	if err != nil {
		return Run{}, err
	}
	if m.then != nil {
		return m.then(run)
	}
	return run, nil
}

// makeNew makes a run that was not there a moment ago.
func (c *Caller) makeNew(ctx context.Context, m making) (Run, error) {
	info, err := m.make()
	if errors.Is(err, runs.ErrExists) { // the same request, at the same time
		run, _, err := c.sameRun(ctx, m.id, m.tags)
		return run, err
	}
	if err != nil {
		return Run{}, ProblemOf(err)
	}
	c.server.logStart(ctx, c.principal, info)
	return c.server.runOf(info), nil
}

// sameRun is the run that the same request has made before.
func (c *Caller) sameRun(ctx context.Context, id string, tags map[string]string) (Run, bool, error) {
	info, exists, err := c.server.runs.Inspect(ctx, id)
	switch {
	case err != nil:
		return Run{}, false, ProblemOf(err)
	case !exists:
		return Run{}, false, nil
	case info.Tags[tagBody] != tags[tagBody]:
		return Run{}, true, NewProblem(Conflict, "the idempotency key was used for another request").of(info.ID)
	}
	return c.server.runOf(info), true, nil
}

// keyed is the ID of the run of a request with an idempotency key, and its tags with what is compared when it is sent
// again.
func keyed(owner, key, body string, tags map[string]string) (string, map[string]string, error) {
	if len(key) > 255 {
		return "", nil, NewProblem(BadRequest, "the idempotency key is longer than 255 bytes")
	}
	tags[tagBody] = runIDOf("body", body)
	return runIDOf("key", owner, key), tags, nil
}

// newRunID draws the ID of a run.
func newRunID() string { return "r_" + strings.ToLower(rand.Text()) }

// runIDOf is an ID made of texts.
func runIDOf(texts ...string) string {
	data, _ := json.Marshal(texts)
	sum := sha256.Sum256(data)
	return "r_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:16])[:26])
}
