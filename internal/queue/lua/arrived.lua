-- arrived.lua reports whether a delivery is marked.
--
-- ARGV[2]  GUID of the delivery
-- ARGV[3]  its fingerprint
--
-- Returns 1 if it is, else 0.

return marked(ARGV[2], ARGV[3]) and 1 or 0
