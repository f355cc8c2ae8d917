package schema

import "maps"

// The clones below are what a result needs in order to share nothing with its source that someone could write to.

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// cloneFilled copies a map, and drops one without entries.
func cloneFilled(m map[string]any) map[string]any {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

func (c MessagePartCommon) clone() MessagePartCommon {
	c.URL = clonePointer(c.URL)
	c.Base64Data = clonePointer(c.Base64Data)
	c.Extra = maps.Clone(c.Extra)
	return c
}

// cloneMedia copies a media struct; common finds the part of it that has more to copy.
func cloneMedia[T any](media *T, common func(*T) *MessagePartCommon) *T {
	if media == nil {
		return nil
	}
	c := *media
	*common(&c) = common(&c).clone()
	return &c
}

func (m *MessageInputImage) common() *MessagePartCommon  { return &m.MessagePartCommon }
func (m *MessageInputAudio) common() *MessagePartCommon  { return &m.MessagePartCommon }
func (m *MessageInputVideo) common() *MessagePartCommon  { return &m.MessagePartCommon }
func (m *MessageInputFile) common() *MessagePartCommon   { return &m.MessagePartCommon }
func (m *MessageOutputImage) common() *MessagePartCommon { return &m.MessagePartCommon }
func (m *MessageOutputAudio) common() *MessagePartCommon { return &m.MessagePartCommon }
func (m *MessageOutputVideo) common() *MessagePartCommon { return &m.MessagePartCommon }
func (m *ToolOutputImage) common() *MessagePartCommon    { return &m.MessagePartCommon }
func (m *ToolOutputAudio) common() *MessagePartCommon    { return &m.MessagePartCommon }
func (m *ToolOutputVideo) common() *MessagePartCommon    { return &m.MessagePartCommon }
func (m *ToolOutputFile) common() *MessagePartCommon     { return &m.MessagePartCommon }

func (p MessageInputPart) clone() MessageInputPart {
	p.Image = cloneMedia(p.Image, (*MessageInputImage).common)
	p.Audio = cloneMedia(p.Audio, (*MessageInputAudio).common)
	p.Video = cloneMedia(p.Video, (*MessageInputVideo).common)
	p.File = cloneMedia(p.File, (*MessageInputFile).common)
	p.Extra = maps.Clone(p.Extra)
	return p
}

func (p MessageOutputPart) clone() MessageOutputPart {
	p.Image = cloneMedia(p.Image, (*MessageOutputImage).common)
	p.Audio = cloneMedia(p.Audio, (*MessageOutputAudio).common)
	p.Video = cloneMedia(p.Video, (*MessageOutputVideo).common)
	p.Reasoning = clonePointer(p.Reasoning)
	p.StreamingMeta = clonePointer(p.StreamingMeta)
	p.Extra = maps.Clone(p.Extra)
	return p
}

func (p ToolOutputPart) clone() ToolOutputPart {
	p.Image = cloneMedia(p.Image, (*ToolOutputImage).common)
	p.Audio = cloneMedia(p.Audio, (*ToolOutputAudio).common)
	p.Video = cloneMedia(p.Video, (*ToolOutputVideo).common)
	p.File = cloneMedia(p.File, (*ToolOutputFile).common)
	p.Extra = maps.Clone(p.Extra)
	return p
}

func (p ChatMessagePart) clone() ChatMessagePart {
	p.ImageURL = clonePointer(p.ImageURL)
	if p.ImageURL != nil {
		p.ImageURL.Extra = maps.Clone(p.ImageURL.Extra)
	}
	p.AudioURL = clonePointer(p.AudioURL)
	if p.AudioURL != nil {
		p.AudioURL.Extra = maps.Clone(p.AudioURL.Extra)
	}
	p.VideoURL = clonePointer(p.VideoURL)
	if p.VideoURL != nil {
		p.VideoURL.Extra = maps.Clone(p.VideoURL.Extra)
	}
	p.FileURL = clonePointer(p.FileURL)
	if p.FileURL != nil {
		p.FileURL.Extra = maps.Clone(p.FileURL.Extra)
	}
	return p
}
