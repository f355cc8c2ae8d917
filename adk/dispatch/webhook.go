package dispatch

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/signed"
	"github.com/weftgo/weft/runs"
)

// Webhook is the Info of an interrupt that another program answers, with [TypedDispatcher.ReplyWebhook].
type Webhook struct {
	// Token names the question, and proves that its holder was given it.
	Token string `json:"token"`
	// Expires is the time from which the answer is an runs.Expired. The zero time is never.
	Expires time.Time `json:"expires,omitzero"`
}

// Asks lists it as a webhook.
func (w *Webhook) Asks() runs.Question {
	return runs.Question{Kind: runs.KindWebhook, Text: "waits for another program", Expires: w.Expires}
}

// stretchKey asks a context for the stretchContext.
type stretchKey struct{}

// stretchContext holds what tools are given by the dispatcher that executes their run: its secret, the run, and the clock
// of the store.
type stretchContext struct {
	secret []byte
	id     string
	clock  core.StoreClock
}

// NewWebhook makes the token under which another program can answer the tool call of ctx, in a run that a dispatcher
// executes. The tool gives it to that program, such as in a URL, and then interrupts the run with the Webhook:
//
//	if _, ok, answer := tool.GetResumeContext[Delivered](ctx); ok {
//		return answer.Text, nil
//	}
//	hook, err := dispatch.NewWebhook(ctx, time.Hour)
//	…
//	return "", tool.Interrupt(ctx, hook)
//
// The token of a call is the same whenever the call is made. It is an HMAC-SHA256 of Config.Secret over the run and the
// call: there is no table of tokens to leak. expires is the time after which no answer is needed any more, 0 for never.
func NewWebhook(ctx context.Context, expires time.Duration) (*Webhook, error) {
	run, _ := ctx.Value(stretchKey{}).(stretchContext)
	key := adk.GetIdempotencyKey(ctx)
	switch {
	case run.id == "" || key == "":
		return nil, errors.New("a webhook can be made by a tool in a run that a dispatcher executes only")
	case len(run.secret) < 16:
		return nil, errNoWebhookSecret
	}
	token, err := signed.Seal(run.secret, webhookPurpose, [2]string{run.id, key})
	if err != nil {
		return nil, err
	}
	w := &Webhook{Token: token}
	if expires > 0 {
		w.Expires = run.clock.Now().Add(expires)
	}
	return w, nil
}

// webhookPurpose is the purpose that tokens are sealed for.
const webhookPurpose = "weft webhook"

var errNoWebhookSecret = errors.New("webhooks need Config.Secret, of at least 16 bytes")

// ErrBadToken says that a token was not made by this application.
var ErrBadToken = errors.New("the token of the webhook is not valid")

// ReplyWebhook answers the question that a token names with JSON, which the tool gets decoded into the type that it
// asks for. It fails with [ErrBadToken], or as [TypedDispatcher.Answer] does.
func (d *TypedDispatcher[M]) ReplyWebhook(ctx context.Context, token string, answer json.RawMessage) error {
	id, encoded, err := d.WebhookReply(ctx, token, answer)
	if err != nil {
		return err
	}
	return d.Reply(ctx, id, encoded)
}

// WebhookReply makes the answer to the question that a token names, for a [Client] of another engine, and returns the
// ID of the run. It changes nothing.
func (d *TypedDispatcher[M]) WebhookReply(
	ctx context.Context, token string, answer json.RawMessage,
) (id string, encoded runs.Reply, err error) {
	if len(d.conf.Secret) < 16 {
		return "", encoded, errNoWebhookSecret
	}
	var names [2]string
	if !signed.Open(d.conf.Secret, webhookPurpose, token, &names) {
		return "", encoded, ErrBadToken
	}
	id = names[0]
	info, exists, err := d.store.Inspect(ctx, id)
	switch {
	case err != nil:
		return id, encoded, err
	case !exists:
		return id, encoded, fmt.Errorf("answer run %q: %w", id, runs.ErrNotFound)
	}
	for _, p := range info.Waiting {
		var w Webhook
		if p.Kind == runs.KindWebhook && json.Unmarshal(p.Info, &w) == nil && hmac.Equal([]byte(w.Token), []byte(token)) {
			encoded, err = runs.EncodeReply(p.ID, runs.JSONReply(answer))
			encoded.By = "webhook"
			return id, encoded, err
		}
	}
	return id, encoded, &runs.Error{Err: runs.ErrNotWaiting, Info: info}
}
