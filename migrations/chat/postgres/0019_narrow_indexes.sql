-- Narrows by sender within a channel or a conversation, by what messages have in them, and by mentions of everybody:
-- each reads an index that holds no other messages, in the order of the answer.
CREATE INDEX message_recipient_sender ON message (recipient_id, sender_id, id);
-- 14: a link, an image or an attachment.
CREATE INDEX message_marked ON message (recipient_id, id) WHERE (marks & 14) <> 0;
-- 16: it mentions everybody in its channel.
CREATE INDEX message_mention ON message (id) WHERE (marks & 16) <> 0;
