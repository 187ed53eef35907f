// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Difference, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param account Whose bill it is, as the channel knows the account, such as wechatpay:1900000001.
 * @param asked null: the channel was not asked about the order since.
 * @param bill null: the bill has no line.
 * @param channelOrderNo see the API
 * @param edge The order was paid near midnight, and may be in the bill of the next or previous day.
 * @param here null: bellman has no order.
 * @param kind missing_here, missing_there, amount, state, refund, duplicate.
 * @param number see the API
 */
public record Difference(
        String account,
        AskedOfOrder asked,
        BillLine bill,
        String channelOrderNo,
        boolean edge,
        BilledOrder here,
        DifferenceKind kind,
        int number) {
    static Difference of(Object json) {
        var r = Shape.Reader.of("Difference", json);
        return new Difference(
                r.text("account"),
                r.shape("asked", AskedOfOrder::of),
                r.shape("bill", BillLine::of),
                r.text("channel_order_no"),
                r.bool("edge", false),
                r.shape("here", BilledOrder::of),
                r.shape("kind", DifferenceKind::of),
                r.int32("number", 0));
    }
}
