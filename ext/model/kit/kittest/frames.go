package kittest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

var errFrame = errors.New("no event-stream frame")

// appendFrame appends a frame of the event-stream encoding: total length, length of the headers, checksum of both,
// headers (each a string), payload, checksum of all.
func appendFrame(data []byte, headers [][2]string, payload []byte) []byte {
	var head []byte
	for _, h := range headers {
		head = append(head, byte(len(h[0])))
		head = append(head, h[0]...)
		head = append(head, 7) // a string
		head = binary.BigEndian.AppendUint16(head, uint16(len(h[1])))
		head = append(head, h[1]...)
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(head)))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = slices.Concat(frame, head, payload)
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	return append(data, frame...)
}

// bedrockFrame returns the frame in which Bedrock sends an event of Anthropic's protocol.
func bedrockFrame(event string) []byte {
	payload, _ := json.Marshal(map[string]any{"bytes": []byte(event)})
	return appendFrame(nil, [][2]string{
		{":event-type", "chunk"}, {":content-type", "application/json"}, {":message-type", "event"},
	}, payload)
}

// splitFrames returns the frames of an event stream. Lengths and checksums must be right.
func splitFrames(data []byte) (frames [][]byte, err error) {
	for len(data) > 0 {
		if len(data) < 16 {
			return nil, fmt.Errorf("%w: %d bytes left", errFrame, len(data))
		}
		size := int(binary.BigEndian.Uint32(data))
		if size < 16 || size > len(data) || crc32.ChecksumIEEE(data[:8]) != binary.BigEndian.Uint32(data[8:]) {
			return nil, fmt.Errorf("%w: wrong prelude", errFrame)
		}
		if crc32.ChecksumIEEE(data[:size-4]) != binary.BigEndian.Uint32(data[size-4:]) {
			return nil, fmt.Errorf("%w: wrong checksum", errFrame)
		}
		frames = append(frames, data[:size])
		data = data[size:]
	}
	if len(frames) == 0 {
		return nil, errFrame
	}
	return frames, nil
}

// framePayloads returns the events in the frames of Bedrock.
func framePayloads(data []byte) (events [][]byte, err error) {
	frames, err := splitFrames(data)
	if err != nil {
		return nil, err
	}
	for _, frame := range frames {
		head := int(binary.BigEndian.Uint32(frame[4:]))
		if 12+head > len(frame)-4 {
			return nil, fmt.Errorf("%w: headers beyond its end", errFrame)
		}
		payload := frame[12+head : len(frame)-4]
		var chunk struct{ Bytes string }
		if json.Unmarshal(payload, &chunk) == nil && chunk.Bytes != "" {
			if event, err := base64.StdEncoding.DecodeString(chunk.Bytes); err == nil {
				payload = event
			}
		}
		events = append(events, payload)
	}
	return events, nil
}
