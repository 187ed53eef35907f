// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * BillLine, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param amount see the API
 * @param channelOrderNo see the API
 * @param currency see the API
 * @param number Line in the file.
 * @param refundAmount see the API
 * @param refundNo see the API
 * @param state see the API
 * @param time null: the bill does not say.
 * @param transactionId see the API
 */
public record BillLine(
        long amount,
        String channelOrderNo,
        String currency,
        int number,
        long refundAmount,
        String refundNo,
        String state,
        Instant time,
        String transactionId) {
    static BillLine of(Object json) {
        var r = Shape.Reader.of("BillLine", json);
        return new BillLine(
                r.int64("amount", 0L),
                r.text("channel_order_no"),
                r.text("currency"),
                r.int32("number", 0),
                r.int64("refund_amount", 0L),
                r.text("refund_no"),
                r.text("state"),
                r.time("time"),
                r.text("transaction_id"));
    }
}
