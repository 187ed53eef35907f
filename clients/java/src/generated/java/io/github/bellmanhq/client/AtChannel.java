// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AtChannel, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param amount In the smallest unit of its currency; absent: not said, or 0.
 * @param channelRefNo The channel's number of it.
 * @param channelState Its state in the channel's words.
 * @param currency ISO 4217.
 * @param failReason Why it failed, in the channel's words.
 * @param finishedAt When the channel finished it.
 */
public record AtChannel(
        Long amount,
        String channelRefNo,
        String channelState,
        String currency,
        String failReason,
        Instant finishedAt) {
    static AtChannel of(Object json) {
        var r = Shape.Reader.of("AtChannel", json);
        return new AtChannel(
                r.int64("amount"),
                r.text("channel_ref_no"),
                r.text("channel_state"),
                r.text("currency"),
                r.text("fail_reason"),
                r.time("finished_at"));
    }
}
