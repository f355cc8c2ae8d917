package mcpserve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// largestState bounds what a client may bring back.
const largestState = 64 << 10

// point is a question that a client was asked.
type point struct {
	ID   string    `json:"id"`
	Kind runs.Kind `json:"kind"`
	// Info holds the data that a decision about an approval must be bound to.
	Info json.RawMessage `json:"info,omitempty"`
	// Inputs are the IDs of what another MCP server asks here, each of which is a request of its own.
	Inputs []string `json:"inputs,omitempty"`
}

// requestState is the state that a client sends back with its answers. It is signed, and not secret.
type requestState struct {
	Version int    `json:"v"`
	Expires int64  `json:"exp"` // seconds since 1970
	Run     string `json:"run"` // the checkpoint ID
	// Nonce is used up by the answers.
	Nonce string `json:"nonce"`
	// Principal, Tool and Arguments bind the state to who was asked, and about what. Arguments is a hash.
	Principal string  `json:"sub,omitempty"`
	Tool      string  `json:"tool"`
	Arguments string  `json:"args"`
	Points    []point `json:"points"`
	// Given are the answers of a run that could not be continued: they wait for the client to want it tried again.
	Given json.RawMessage `json:"given,omitempty"`
	// Used counts the tokens that the run has used until now, if they are counted.
	Used *schema.TokenUsage `json:"used,omitempty"`
}

const stateVersion = 1

// errState is the error that clients read about a state that is not accepted, whatever is wrong with it.
var errState = errors.New("the request state is not valid any more: call the tool again without it")

func hashOf(arguments []byte) string {
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:])
}

// mac signs a text with a key.
func mac(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("weft mcp request state\x00" + text))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// seal makes the text that the client brings back.
func (s *Server) seal(state requestState) (string, error) {
	state.Version = stateVersion
	data, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(data)
	sealed := text + "." + mac(s.conf.Keys[0], text)
	if len(sealed) > largestState {
		return "", fmt.Errorf("the questions need a request state of %d bytes", len(sealed))
	}
	return sealed, nil
}

// unseal reads what a client brought back, if this server, or one with its keys, has signed it for just this call.
func (s *Server) unseal(sealed, principal, tool string, arguments []byte) (state requestState, err error) {
	text, signature, _ := strings.Cut(sealed, ".")
	signed := false
	for _, key := range s.conf.Keys {
		signed = hmac.Equal([]byte(mac(key, text)), []byte(signature)) || signed
	}
	if !signed || len(sealed) > largestState {
		return state, errState
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil || state.Version != stateVersion || time.Now().Unix() > state.Expires || state.Principal != principal ||
		state.Tool != tool || state.Arguments != hashOf(arguments) {
		return requestState{}, errState
	}
	return state, nil
}

// use uses a state up.
func (s *Server) use(ctx context.Context, state *requestState) error {
	first, err := s.conf.Ledger.Use(ctx, "mcp/"+state.Nonce, time.Unix(state.Expires, 0))
	if err == nil && !first {
		err = errState
	}
	return err
}
