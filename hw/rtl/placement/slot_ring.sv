// Keeps the books of a ring of slots in memory: which slot the next frame gets, and the frames in the order of their slots.
// One that came whole leaves as an event, and keeps its slot until its release; one that failed leaves its slot as soon as
// those before it have left theirs.
module slot_ring
  import framelane_pkg::frame_t;
  import framelane_pkg::frame_info_t;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned MaxSlots = 1024,  // in use at a time
    parameter bit TimeFlags = 1'b0  // 0: no frame has them
) (
    input logic clk,
    input logic rst,

    // The ring, all in whole beats; restart_i starts it again at its base where no slot is in use
    input logic [63:0] base_i,
    input logic [31:0] slot_bytes_i,
    input logic [15:0] slots_i,
    input logic        restart_i,

    // A frame begins: where a slot is free, it may take it
    output logic               free_o,
    output logic        [63:0] address_o,
    input  logic               take_i,
    input  frame_info_t        info_i,
    input  logic        [63:0] kind_index_i,

    // A frame ends, in the same order
    input logic done_i,
    input logic failed_i,

    output frame_t m_axis_frame_tdata,
    output logic   m_axis_frame_tvalid,
    input  logic   m_axis_frame_tready,
    input  logic   release_i,            // one for each event, in their order

    output logic idle_o  // no slot is in use
);

  localparam int unsigned LANES_W = $clog2(DataW / 8);

  if (MaxSlots < 2 || MaxSlots > 32768 || (MaxSlots & (MaxSlots - 1)) != 0) begin : gen_check
    $error("%m: MaxSlots = %0d must be a power of two, 2 to 32768", MaxSlots);
  end

  typedef logic [$clog2(MaxSlots):0] slots_t;
  typedef logic [63-LANES_W:0] address_t;  // in beats
  typedef logic [31-LANES_W:0] beats_t;

  // Slots
  slots_t in_use_q;
  logic [15:0] index_q;
  address_t address, next_q;
  beats_t slot_beats;
  logic freed;

  assign slot_beats = slot_bytes_i[31:LANES_W];
  assign free_o = in_use_q < slots_t'(MaxSlots) && 16'(in_use_q) < slots_i && slot_beats != '0;
  assign address = index_q == '0 ? base_i[63:LANES_W] : next_q;
  assign address_o = {address, LANES_W'(0)};
  assign idle_o = in_use_q == '0;

  always_ff @(posedge clk) begin
    in_use_q <= in_use_q + slots_t'(take_i) - slots_t'(freed);
    if (take_i) begin
      index_q <= index_q == slots_i - 1'b1 ? '0 : index_q + 1'b1;
      next_q  <= address + address_t'(slot_beats);
    end else if (restart_i && idle_o) begin
      index_q <= '0;
    end
    if (rst) begin
      in_use_q <= '0;
      index_q  <= '0;
    end
  end

  // Frames in the order of their slots: what is known of each; whether it came whole; whether its slot waits for a release.
  // None of these queues can be full: each frame in them has a slot of its own.
  frame_t frame;
  logic frame_valid, end_valid, end_good, leaves;
  logic held_valid, held_good;
  logic unused_frame_ready, unused_end_ready, unused_held_ready;

  assign frame = '{
          time_flags: info_i.time_flags,
          kind: info_i.kind,
          kind_index: kind_index_i,
          bunch_id: info_i.bunch_id,
          timestamp_ns: info_i.timestamp_ns,
          number: info_i.number,
          address: address_o
      };

  localparam int unsigned FRAME_W = $bits(frame_t) - (TimeFlags ? 0 : $bits(info_i.time_flags));

  logic [FRAME_W-1:0] frame_kept, frame_left;  // time_flags are the first

  assign frame_kept = FRAME_W'(frame);
  assign m_axis_frame_tdata = $bits(frame_t)'(frame_left);

  axis_buffer #(
      .DataW(FRAME_W),
      .Depth(MaxSlots)
  ) u_frames (
      .clk,
      .rst,
      .s_axis_tdata (frame_kept),
      .s_axis_tvalid(take_i),
      .s_axis_tready(unused_frame_ready),
      .m_axis_tdata (frame_left),
      .m_axis_tvalid(frame_valid),
      .m_axis_tready(leaves)
  );

  axis_fifo #(
      .DataW(1),
      .Depth(MaxSlots)
  ) u_ends (
      .clk,
      .rst,
      .s_axis_tdata (!failed_i),
      .s_axis_tvalid(done_i),
      .s_axis_tready(unused_end_ready),
      .m_axis_tdata (end_good),
      .m_axis_tvalid(end_valid),
      .m_axis_tready(leaves)
  );

  assign m_axis_frame_tvalid = frame_valid && end_valid && end_good;
  assign leaves = frame_valid && end_valid && (m_axis_frame_tready || !end_good);

  axis_fifo #(
      .DataW(1),
      .Depth(MaxSlots)
  ) u_held (
      .clk,
      .rst,
      .s_axis_tdata (end_good),
      .s_axis_tvalid(leaves),
      .s_axis_tready(unused_held_ready),
      .m_axis_tdata (held_good),
      .m_axis_tvalid(held_valid),
      .m_axis_tready(freed)
  );

  // Releases: one that answers an event waits until failed frames before it are gone; one that answers none is nothing.
  slots_t owed_q, releases_q;  // owed: events that no release has answered
  logic released;

  assign released = release_i && owed_q != '0;
  assign freed = held_valid && (!held_good || releases_q != '0);

  always_ff @(posedge clk) begin
    owed_q <= owed_q + slots_t'(leaves && end_good) - slots_t'(released);
    releases_q <= releases_q + slots_t'(released) - slots_t'(freed && held_good);
    if (rst) begin
      owed_q <= '0;
      releases_q <= '0;
    end
  end

  logic unused;
  assign unused = ^{unused_frame_ready, unused_end_ready, unused_held_ready, base_i, slot_bytes_i, frame};

endmodule
