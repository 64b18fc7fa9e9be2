// Tells software of frames that have been written: behind each frame its trailer goes into a ring of entries of 64 bytes as well, with the phase
// and how the frame's writes ended. An event is one more descriptor among those that pass, sent when all of its frame have their status: so it
// takes the same way as the data, behind them. Events for which there is no room are lost and counted, and hold nothing up.
//
// Where data and events go to different devices, ways part, and an event could arrive first. With `fence_i` a read of no bytes goes where the
// trailer went, and the event waits for its completion; what follows does not. One fence is under way at a time.
//
//   descriptors, their payload -> in turn with events and fences -> descriptors, payload
//   ends of descriptors -> how a frame ended -> [fence] -> events
module event_queue
  import pcie_pkg::*;
  import framelane_pkg::bd_t;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Depth = 64,  // descriptors under way

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // Software: no event where it is not enabled. Produced and consumed are counts of entries, modulo 2^32
    input  logic        enabled_i,
    input  logic [63:0] base_i,      // offset of the first entry in the ring's pages, a multiple of the queue's bytes
    input  logic [ 4:0] log2_i,      // of how many entries: 1 to 16
    input  logic [31:0] consumed_i,
    output logic [31:0] produced_o,
    input  logic        fence_i,        // an event waits until all of its frame has arrived
    input  logic [23:0] fence_limit_i,  // cycles, at most

    // Completions of reads: those of another tag are passed over
    input logic       completion_i,
    input logic [4:0] completion_tag_i,
    input logic       completion_bad_i,  // it is an error, or poisoned

    // Descriptors and payload, one packet each that has bytes; `last` has the trailer as its payload. Frames of two streams may come mixed: the
    // lowest bit of `qp` says of which a descriptor is
    input  bd_t  s_axis_bd_tdata,
    input  logic s_axis_bd_tvalid,
    output logic s_axis_bd_tready,

    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tuser,
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    output bd_t    m_axis_bd_tdata,
    output fence_t m_axis_bd_tuser,
    output logic   m_axis_bd_tvalid,
    input  logic   m_axis_bd_tready,

    output logic [DataW-1:0] m_axis_payload_tdata,
    output logic [KeepW-1:0] m_axis_payload_tkeep,
    output logic             m_axis_payload_tlast,
    output logic             m_axis_payload_tuser,
    output logic             m_axis_payload_tvalid,
    input  logic             m_axis_payload_tready,

    // Ends of descriptors, in their order
    input logic    status_valid_i,
    input status_e status_i,

    // The same without those of events and fences, and of which stream; pulses
    output logic    status_valid_o,
    output status_e status_o,
    output logic    status_stream_o,
    output logic    event_o,         // an event is on its way
    output logic    written_o,       // the last beat of one has been given to the port
    output logic    lost_o,          // there was no room for one
    output logic    unanswered_o,    // a fence had no completion in time
    output logic    refused_o,       // or an error
    output logic    unexpected_o,    // a completion came for which nobody waits

    output logic idle_o  // no descriptor is under way, no event owed
);

  localparam int unsigned EVENT_W = 512;
  localparam int unsigned EVENTS = 16;  // frames whose trailers have passed, and whose events have not
  localparam int unsigned USED_W = 17;  // up to 2^16 entries

  typedef logic [USED_W-1:0] used_t;

  // What a descriptor is that has been passed on.
  typedef struct packed {
    logic stream;
    logic is_fence;
    logic is_event;
    logic ends_frame;  // and an event will follow
  } kind_t;

  // A frame that has been passed on: how it ended, where its trailer is.
  typedef struct packed {
    status_e status;
    logic [OFFSET_W-1:0] at;
  } frame_t;

  // Descriptors: an event goes first. A frame's last waits while too many frames have no event yet.
  kind_t kind, ended;
  bd_t next_bd, event_bd, fence_bd;
  fence_t fence;
  logic [$bits(fence_t)-1:0] fence_bits;
  logic next_valid, next_ready, passes, has_payload, kinds_ready, order_ready, ended_valid;
  logic room, sends, loses, marks_ready;
  logic [4:0] owed_q;  // frames whose events are not on their way
  logic forgets;  // a trailer
  logic owes_q, finished;
  logic [31:0] produced_q;
  used_t used_q;
  logic [63:0] at_q;  // of the next entry
  used_t within_q;  // bits of a count that are an entry's index
  logic full_q, settled_q, checked_q;
  frame_t waiting;
  logic is_data;
  event_mark_t mark;

  // The fence of the frame whose event is next.
  logic asks, fence_waits, event_passes;
  logic [4:0] tag;
  status_e fence_status;

  event_fence u_fence (
      .clk,
      .rst,
      .fence_i,
      .limit_i       (fence_limit_i),
      .completion_i,
      .completion_tag_i,
      .completion_bad_i,
      .ready_i       (room && checked_q && !full_q),
      .sent_i        (asks && passes),
      .ended_i       (status_valid_i && ended.is_fence),
      .ended_status_i(status_i),
      .over_i        (finished || loses),
      .asks_o        (asks),
      .tag_o         (tag),
      .waits_o       (fence_waits),
      .passes_o      (event_passes),
      .status_o      (fence_status),
      .unanswered_o,
      .refused_o,
      .unexpected_o
  );

  assign kind.stream = s_axis_bd_tdata.qp[0];
  assign kind.is_event = sends;
  assign kind.is_fence = asks;
  assign kind.ends_frame = !sends && !asks && s_axis_bd_tdata.last && enabled_i;
  assign sends = event_passes && marks_ready;
  assign loses = room && checked_q && full_q && marks_ready && !fence_waits;
  assign is_data = s_axis_bd_tvalid && !(s_axis_bd_tdata.last && enabled_i && owes_q);
  assign next_bd = sends ? event_bd : asks ? fence_bd : s_axis_bd_tdata;
  assign fence = '{read: asks, tag: asks ? tag : '0};
  assign has_payload = next_bd.length != '0 && !asks;
  assign next_valid = (sends || asks || is_data) && kinds_ready && order_ready;
  assign passes = next_valid && next_ready;
  assign s_axis_bd_tready = next_ready && kinds_ready && order_ready && !sends && !asks && is_data;

  always_comb begin
    event_bd = '0;
    event_bd.destination = at_q;
    event_bd.length = 32'(EVENT_W / 8);
    fence_bd = '0;
    fence_bd.destination = 64'(waiting.at);
    fence_bd.length = 32'd1;
  end

  axis_skid #(
      .DataW($bits(fence_t) + $bits(bd_t))
  ) u_bd (
      .clk, .rst,
      .s_axis_tdata ({fence, next_bd}),
      .s_axis_tvalid(next_valid), .s_axis_tready(next_ready),
      .m_axis_tdata ({fence_bits, m_axis_bd_tdata}),
      .m_axis_tvalid(m_axis_bd_tvalid), .m_axis_tready(m_axis_bd_tready)
  );

  assign m_axis_bd_tuser = fence_bits;

  // Ends of descriptors. A frame's is the first that is not OK of all of its.
  status_e [1:0] frame_q;  // of each stream
  status_e frame;
  logic frame_ends;

  assign frame = frame_q[ended.stream] == OK ? status_i : frame_q[ended.stream];
  assign frame_ends = status_valid_i && ended.ends_frame;

  axis_fifo #(
      .DataW($bits(kind_t)),
      .Depth(Depth)
  ) u_kinds (
      .clk, .rst,
      .s_axis_tdata (kind),
      .s_axis_tvalid(passes), .s_axis_tready(kinds_ready),
      .m_axis_tdata (ended),
      .m_axis_tvalid(ended_valid), .m_axis_tready(status_valid_i)
  );

  logic frames_ready;
  logic [$bits(frame_t)-1:0] waiting_bits;

  // Where the trailers of frames under way are.
  logic ends_ready, ends_valid;
  logic [OFFSET_W-1:0] ended_at;

  axis_fifo #(
      .DataW(OFFSET_W),
      .Depth(EVENTS)
  ) u_ends (
      .clk, .rst,
      .s_axis_tdata (s_axis_bd_tdata.destination[OFFSET_W-1:0]),
      .s_axis_tvalid(passes && kind.ends_frame), .s_axis_tready(ends_ready),
      .m_axis_tdata (ended_at),
      .m_axis_tvalid(ends_valid), .m_axis_tready(frame_ends)
  );

  axis_fifo #(
      .DataW($bits(frame_t)),
      .Depth(EVENTS)
  ) u_frames (
      .clk, .rst,
      .s_axis_tdata ({frame, ended_at}),
      .s_axis_tvalid(frame_ends), .s_axis_tready(frames_ready),
      .m_axis_tdata (waiting_bits),
      .m_axis_tvalid(room), .m_axis_tready((sends && passes) || loses)
  );

  assign waiting = waiting_bits;
  assign finished = sends && passes;
  assign event_o = finished;
  assign lost_o = loses;
  assign written_o = status_valid_i && ended.is_event && status_i == OK;
  assign idle_o = !ended_valid && owed_q == '0 && !m_axis_bd_tvalid;
  assign produced_o = produced_q;

  always_ff @(posedge clk) begin
    if (status_valid_i && !ended.is_event && !ended.is_fence) frame_q[ended.stream] <= ended.ends_frame ? OK : frame;
    status_valid_o <= status_valid_i && !ended.is_event && !ended.is_fence;
    status_o <= status_i;
    status_stream_o <= ended.stream;
    if (finished) produced_q <= produced_q + 1'b1;
    used_q <= used_t'(produced_q) - used_t'(consumed_i);
    within_q <= ~(~used_t'(0) << log2_i);
    full_q <= (used_q & ~within_q) != '0;
    at_q <= base_i | 64'({used_t'(produced_q) & within_q, 6'd0});
    // Looked at two cycles behind the event before: then the count is that behind it.
    checked_q <= room && !finished && !loses && settled_q;
    settled_q <= !finished && !loses;
    owed_q <= owed_q + 5'(passes && kind.ends_frame) - 5'(forgets);
    owes_q <= owed_q >= 5'(EVENTS - 2);
    if (rst) begin
      frame_q <= {OK, OK};
      status_valid_o <= 1'b0;
      produced_q <= '0;
      checked_q <= 1'b0;
      owed_q <= '0;
      owes_q <= 1'b0;
    end
  end

  // Their payload.
  event_join #(
      .DataW (DataW),
      .Depth (Depth),
      .Events(EVENTS)
  ) u_join (
      .clk,
      .rst,
      .s_axis_turn_event (kind.is_event),
      .s_axis_turn_keeps (kind.ends_frame),
      .s_axis_turn_tvalid(passes && has_payload),
      .s_axis_turn_tready(order_ready),
      .s_axis_mark_tdata (mark),
      .s_axis_mark_tvalid(finished || loses),
      .s_axis_mark_tready(marks_ready),
      .s_axis_payload_tdata,
      .s_axis_payload_tkeep,
      .s_axis_payload_tlast,
      .s_axis_payload_tuser,
      .s_axis_payload_tvalid,
      .s_axis_payload_tready,
      .m_axis_payload_tdata,
      .m_axis_payload_tkeep,
      .m_axis_payload_tlast,
      .m_axis_payload_tuser,
      .m_axis_payload_tvalid,
      .m_axis_payload_tready,
      .forgets_o         (forgets)
  );

  assign mark = '{
          lost: loses,
          phase: ~produced_q[log2_i],
          status: waiting.status == OK ? fence_status : waiting.status
      };

  logic unused;
  assign unused = ^consumed_i;

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !frame_ends || (frames_ready && ends_valid)) else $error("%m: no room for a frame");
    assert (rst || !(passes && kind.ends_frame) || ends_ready) else $error("%m: no room for where a trailer is");
    assert (rst || !status_valid_i || ended_valid) else $error("%m: a status, and no descriptor");
  end
`endif

endmodule
