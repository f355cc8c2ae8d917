package compose

import (
	"bytes"
	"encoding/gob"
)

type tmpInternalSerializer struct{}

func (tmpInternalSerializer) Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func (tmpInternalSerializer) Unmarshal(d []byte, v any) error {
	return gob.NewDecoder(bytes.NewReader(d)).Decode(v)
}
func tmpDeepCopy(v any) (any, error)         { return v, nil }
func tmpGenericRegister[T any](string) error { return nil }
