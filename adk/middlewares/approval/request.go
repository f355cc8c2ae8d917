package approval

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"

	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Request is a question: may this call run?
type Request struct {
	Tool string `json:"tool"`
	// Origin is the origin of the tool, "" for one of the program itself: see tool.OriginOf. The decision is for a tool of
	// that origin: if another one has the name when the run continues, the question is asked again.
	Origin    string `json:"origin,omitempty"`
	CallID    string `json:"call_id"`
	Arguments string `json:"arguments"`
	// Hash binds a decision to the request.
	Hash string `json:"hash"`
	// Refused says why the decision about the request before was not taken, "" if there was none.
	Refused string `json:"refused,omitempty"`
	// For is whom the call waits for, as [Config.For] says.
	For []string `json:"for,omitempty"`
}

// Asks says how the request is listed: see [runs.Asker].
func (r *Request) Asks() runs.Question {
	return runs.Question{Kind: runs.KindApproval, For: r.For, Tool: r.Tool, Call: r.CallID, Arguments: r.Arguments,
		Text: fmt.Sprintf("May %s run with %s?", r.Tool, r.Arguments)}
}

// Shortened returns the request with fewer arguments, for lists: see [runs.Shortener]. It keeps the Hash of the request.
func (r *Request) Shortened(most int) any {
	short := *r
	short.Arguments = strings.ToValidUTF8(short.Arguments[:min(len(short.Arguments), most)], "")
	return &short
}

// CheckReply refuses what is no decision about this request: see [runs.Checker].
func (r *Request) CheckReply(answer any) error {
	var d Decision
	switch v := answer.(type) {
	case *Decision:
		if v == nil {
			return errors.New("the decision is nil")
		}
		d = *v
	case Decision:
		d = v
	case runs.JSONReply:
		if err := json.Unmarshal(v, &d); err != nil {
			return fmt.Errorf("it is no decision: %w; %s", err, howToDecide)
		}
	case nil:
		return nil // it is asked again
	default:
		return fmt.Errorf("it is %T: %s", answer, howToDecide)
	}
	if wrong := r.wrongHash(&d); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// What is wrong with a decision that is not bound to the request, and what to do about one that is not bound to any.
const (
	howToDecide = `make it of the request or the question (Approve, Reject or Edit), or of the question and {"approve": true} ` +
		`(serve.ReplyValue)`
	unbound   = "the decision does not have the hash of its request: " + howToDecide
	otherCall = "the decision is for another call"
)

// wrongHash says why a decision is not about the request, "" if it is.
func (r *Request) wrongHash(d *Decision) string {
	switch {
	case d.Hash == "":
		return unbound
	case subtle.ConstantTimeCompare([]byte(r.Hash), []byte(d.Hash)) != 1:
		return otherCall
	}
	return ""
}

// Decision answers a [Request]. It may travel as JSON.
type Decision struct {
	Verdict runs.Verdict `json:"verdict"`
	// Hash is the request's.
	Hash string `json:"hash"`
	// Text is the text about a rejection for the model.
	Text string `json:"text,omitempty"`
	// Arguments take the place of the model's, if they were edited.
	Arguments string `json:"arguments,omitempty"`
	// Signature is made by [Decision.Sign].
	Signature string `json:"signature,omitempty"`
}

// Approve lets the call run as it is.
func (r *Request) Approve() *Decision { return &Decision{Verdict: runs.Approved, Hash: r.Hash} }

// Reject answers the model that the call was rejected, and why.
func (r *Request) Reject(text string) *Decision {
	return &Decision{Verdict: runs.Rejected, Hash: r.Hash, Text: text}
}

// Edit lets the call run with other arguments, which must be JSON.
func (r *Request) Edit(arguments string) *Decision {
	return &Decision{Verdict: runs.Edited, Hash: r.Hash, Arguments: arguments}
}

// Decide returns the decision that a verdict stands for: see [runs.Decider].
func (r *Request) Decide(verdict runs.Verdict, text string) any {
	switch verdict {
	case runs.Approved:
		return r.Approve()
	case runs.Edited:
		return r.Edit(text)
	}
	return r.Reject(text)
}

// Sign signs the decision with the key of [Config.Key] and returns it. The key belongs where decisions are made, and
// not on the way from there.
func (d *Decision) Sign(key []byte) *Decision {
	d.Signature = hex.EncodeToString(d.mac(key))
	return d
}

func (d *Decision) mac(key []byte) []byte {
	return digest(hmac.New(sha256.New, key), string(d.Verdict), d.Hash, d.Text, d.Arguments)
}

func (d *Decision) signedWith(key []byte) bool {
	signature, err := hex.DecodeString(d.Signature)
	return err == nil && hmac.Equal(signature, d.mac(key))
}

// pending holds what the run remembers of a request.
type pending struct {
	Nonce   string
	Asked   time.Time
	Refused string
}

// granted holds what the run remembers of a call that may run, for when the tool itself is interrupted, or the call given
// up because the run was cancelled.
type granted struct {
	Arguments string
	// Origin is the origin of the tool.
	Origin string
	// Hash is the hash of the request. Again is what a repeated call uses up in its place.
	Hash, Again string
}

func init() {
	schema.RegisterName[*pending]("_weft_approval_pending")
	schema.RegisterName[granted]("_weft_approval_granted")
	schema.RegisterName[*Request]("_weft_approval_request")
	schema.RegisterName[*Decision]("_weft_approval_decision")
}

func newPending(refused string) *pending {
	return &pending{Nonce: rand.Text(), Asked: time.Now(), Refused: refused}
}

// call is a call of a tool, at a place in a run.
type call struct{ place, tool, origin, id, arguments string }

// request makes the question.
func (p *pending) request(c call) *Request {
	sum := digest(sha256.New(), p.Nonce, c.place, c.tool, c.origin, c.id, c.arguments)
	return &Request{Tool: c.tool, Origin: c.origin, CallID: c.id, Arguments: c.arguments, Hash: hex.EncodeToString(sum), Refused: p.Refused}
}

// digest hashes texts, so that no two lists of texts look the same.
func digest(h hash.Hash, texts ...string) []byte {
	var size [8]byte
	for _, text := range texts {
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	return h.Sum(nil)
}
