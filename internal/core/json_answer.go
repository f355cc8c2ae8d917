package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weftgo/weft/runs"
)

// AnswerErrorKey asks a context for a func(error) that takes what is wrong with a [runs.JSONReply].
type AnswerErrorKey struct{}

// decodeAnswer decodes a JSON answer into what is waited for.
func decodeAnswer[T any](ctx context.Context, raw runs.JSONReply) (data T, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&data)
	if err == nil {
		if _, extra := decoder.Token(); extra != io.EOF {
			err = errors.New("there is something behind the value")
		}
	}
	if err == nil {
		return data, true
	}
	if report, _ := ctx.Value(AnswerErrorKey{}).(func(error)); report != nil {
		report(fmt.Errorf("the JSON answer to %s does not fit %T: %w", GetCurrentAddress(ctx), data, err))
	}
	var none T
	return none, false
}
