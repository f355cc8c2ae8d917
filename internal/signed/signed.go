// Package signed makes texts of values that strangers keep and bring back: the holder of the key recognises them.
//
// Tokens of webhooks (adk/dispatch) and tickets (serve) are such texts. They are signed, and not secret. The format is in
// the hands of strangers: it must not change.
package signed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// Seal makes the text of a value: its JSON and an HMAC-SHA256, both in base64. purpose keeps texts of one use from being
// shown for another.
func Seal(key []byte, purpose string, value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	payload := base64.RawURLEncoding.EncodeToString(data)
	return payload + "." + mac(key, purpose, payload), nil
}

// Open reads the value of a text, and reports whether Seal has made it with this key, for this purpose.
func Open(key []byte, purpose, text string, into any) bool {
	payload, signature, _ := strings.Cut(text, ".")
	if !hmac.Equal([]byte(mac(key, purpose, payload)), []byte(signature)) {
		return false
	}
	data, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && json.Unmarshal(data, into) == nil
}

func mac(key []byte, purpose, payload string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose + "\x00" + payload))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
