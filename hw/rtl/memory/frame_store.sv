// Keeps the frames of a detector, which cannot wait, in a ring of slots in memory until the link has read them. A frame that
// lies there whole leaves as an event; each release frees the slot of the oldest event. A frame that finds no slot free is
// swallowed whole and counted as lost; one that does not fit its slot, or that the memory refuses, is bad: it never becomes
// an event, and its slot is free again as soon as those before it are. With the correction on a slot has the corrected image too,
// at an offset behind the raw one, and a frame that is not of an image's size is bad. Model: frame_store.FrameStore.
module frame_store
  import axi_pkg::*;
  import framelane_pkg::frame_t;
  import framelane_pkg::frame_info_t;
  import framelane_pkg::correction_t;
  import jf_pkg::PLANES;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 64,
    parameter int unsigned MaxSlots = 1024,  // slots in use at a time
    parameter bit Correct = 1'b0,
    parameter int unsigned MaxBurst = 256,  // beats of the longest burst
    parameter bit TimeFlags = 1'b0,  // 0: no frame has them

    localparam int unsigned KeepW = DataW / 8
) (
    input logic       clk,
    input logic [1:0] rst,  // always equal

    // The ring, all in whole beats; it may change while this is idle and not armed, and then starts again at its base
    input logic [63:0] base_i,
    input logic [31:0] slot_bytes_i,
    input logic [15:0] slots_i,
    input logic        armed_i,
    input logic        abort_i,       // gives up the frame that is coming: it is bad

    input correction_t correction_i,  // in force from the next arming on

    input  logic        [DataW-1:0] s_axis_pixel_tdata,
    input  logic        [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic                    s_axis_pixel_tlast,
    input  frame_info_t             s_axis_pixel_tuser,   // with the first beat
    input  logic                    s_axis_pixel_tvalid,
    output logic                    s_axis_pixel_tready,
    input  logic                    pixel_cut_i,          // with tlast: the packet was cut on its way, its frame is bad
    input  logic                    pixel_restart_i,      // what comes next begins a packet

    // AXI4 write masters, one ID each: responses return in order. Raw images
    output axi_write_request_t              m_axi_o,
    input  axi_write_response_t             m_axi_i,
    output logic                [DataW-1:0] m_axi_wdata,
    output logic                [KeepW-1:0] m_axi_wstrb,

    // Corrected images
    output axi_write_request_t              m_axi_corrected_o,
    input  axi_write_response_t             m_axi_corrected_i,
    output logic                [DataW-1:0] m_axi_corrected_wdata,
    output logic                [KeepW-1:0] m_axi_corrected_wstrb,

    // AXI4 read masters: the planes of the constants
    output axi_read_request_t  [PLANES-1:0]            m_axi_constant_o,
    input  axi_read_response_t [PLANES-1:0]            m_axi_constant_i,
    input  logic               [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,

    output frame_t m_axis_frame_tdata,
    output logic   m_axis_frame_tvalid,
    input  logic   m_axis_frame_tready,
    input  logic   release_i,            // one for each event, in their order

    // One pulse a frame: no slot was free; of the wrong length or refused by the memory; begun while not armed
    output logic lost_o,
    output logic bad_o,
    output logic ignored_o,

    // Pulses: a frame is not an image of the correction's size, or there is no room for it, and so is bad; a beat of constants came
    // with an error; a beat of pixels waits
    output logic mismatch_o,
    output logic constant_error_o,
    output logic stall_o,

    output logic idle_o  // no slot is in use: no write outstanding, no event waiting; while not armed also no read
);

  localparam int unsigned LANES_W = $clog2(KeepW);
  localparam int unsigned KINDS = 8;

  typedef logic [31-LANES_W:0] beats_t;

  // What a frame may have: a slot at most; with the correction exactly an image, for which the slot has room twice. It does not
  // change while frames are under way.
  correction_t correction_q, correction;
  beats_t limit_q;
  logic exact_q, possible_q, one_beat_q, ring_idle;
  logic [KeepW-1:0] last_keep_q;  // of an image
  logic [31:0] image_bytes;

  assign image_bytes = correction_q.image_bytes;

  always_comb begin
    correction = correction_q;
    correction.enabled = exact_q && possible_q;
  end

  always_ff @(posedge clk) begin
    if (!armed_i && ring_idle) correction_q <= correction_i;
    exact_q <= Correct && correction_q.enabled;
    possible_q <= !(Correct && correction_q.enabled) || (image_bytes != '0 && image_bytes <= correction_q.offset &&
        33'(correction_q.offset) + 33'(image_bytes) <= 33'(slot_bytes_i));
    limit_q <= Correct && correction_q.enabled ? beats_t'((33'(image_bytes) + 33'(KeepW - 1)) >> LANES_W) :
        slot_bytes_i[31:LANES_W];
    one_beat_q <= Correct && correction_q.enabled ? image_bytes != '0 && image_bytes <= 32'(KeepW) :
        slot_bytes_i[31:LANES_W] == beats_t'(1);
    last_keep_q <= {KeepW{1'b1}} >> (LANES_W'(0) - image_bytes[LANES_W-1:0]);
  end

  // The stream. A packet is taken or swallowed as its first beat says, or from where the slot ends. Whether one is under way
  // outlives a reset: its rest is swallowed.
  logic in_packet_q = 1'b0;
  logic taking, taking_q, free, beat, begins, taken, fits, ready, cut;
  beats_t left, left_q;  // left: beats that a frame may have, this one included
  logic none_after, none_after_q;  // it may have no beat after this one: left is 1

  assign taking = in_packet_q ? taking_q : armed_i && free;
  assign cut = abort_i && in_packet_q && taking_q;  // an end for the memory; the rest of the packet is swallowed
  assign s_axis_pixel_tready = (ready || !taking) && !cut;
  assign beat = s_axis_pixel_tvalid && s_axis_pixel_tready;
  assign begins = beat && !in_packet_q;
  assign taken = begins && taking;
  assign left = in_packet_q ? left_q : limit_q;
  assign none_after = in_packet_q ? none_after_q : one_beat_q;

  always_comb begin
    fits = s_axis_pixel_tlast || !none_after;
    if (exact_q) fits = s_axis_pixel_tlast == none_after &&
        (!s_axis_pixel_tlast || s_axis_pixel_tkeep == last_keep_q);
    if (!possible_q || pixel_cut_i) fits = 1'b0;
  end

  always_ff @(posedge clk) begin
    if (beat) begin
      in_packet_q <= !s_axis_pixel_tlast;
      taking_q <= taking && fits;
      left_q <= left - 1'b1;
      none_after_q <= left == beats_t'(2);
    end
    if (pixel_restart_i) in_packet_q <= 1'b0;
    if (cut && ready) taking_q <= 1'b0;
    lost_o <= begins && armed_i && !taking;
    ignored_o <= begins && !armed_i;
    mismatch_o <= beat && taking && exact_q && !fits;
    if (rst[0]) begin
      taking_q  <= 1'b0;
      lost_o    <= 1'b0;
      ignored_o <= 1'b0;
      mismatch_o <= 1'b0;
    end
  end

  assign stall_o = s_axis_pixel_tvalid && !s_axis_pixel_tready && armed_i;

  // Frames of each kind that have begun while armed, lost ones included: of one that has not been seen, none
  logic [63:0] kinds_q[KINDS];
  logic [KINDS-1:0] seen_q;
  logic [63:0] kind_index;

  assign kind_index = seen_q[s_axis_pixel_tuser.kind] ? kinds_q[s_axis_pixel_tuser.kind] : '0;

  always_ff @(posedge clk) begin
    if (begins && armed_i) begin
      kinds_q[s_axis_pixel_tuser.kind] <= kind_index + 1'b1;
      seen_q[s_axis_pixel_tuser.kind]  <= 1'b1;
    end
    if (rst[0]) seen_q <= '0;
  end

  // To memory
  logic [63:0] address;
  logic done, failed;

  logic run, writer_idle;

  // Constants are read ahead from arming on, and until the last frame is through.
  assign run = armed_i || !ring_idle;
  assign idle_o = ring_idle && (run || writer_idle);

  image_writer #(
      .DataW    (DataW),
      .AddrW    (AddrW),
      .MaxFrames(MaxSlots),
      .Correct  (Correct),
      .MaxBurst (MaxBurst)
  ) u_writer (
      .clk,
      .rst          (rst[1]),
      .correction_i (correction),
      .run_i        (run),
      .abort_i,
      .s_axis_tdata (s_axis_pixel_tdata),
      .s_axis_tkeep (s_axis_pixel_tkeep),
      .s_axis_tlast (s_axis_pixel_tlast || !fits || cut),
      .s_axis_tuser ({!fits || cut, AddrW'(address)}),
      .s_axis_tvalid((s_axis_pixel_tvalid && taking) || cut),
      .s_axis_tready(ready),
      .m_axi_o,
      .m_axi_i,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_corrected_o,
      .m_axi_corrected_i,
      .m_axi_corrected_wdata,
      .m_axi_corrected_wstrb,
      .m_axi_constant_o,
      .m_axi_constant_i,
      .m_axi_constant_rdata,
      .done_o       (done),
      .failed_o     (failed),
      .constant_error_o,
      .idle_o       (writer_idle)
  );

  slot_ring #(
      .DataW(DataW),
      .MaxSlots(MaxSlots),
      .TimeFlags(TimeFlags)
  ) u_ring (
      .clk,
      .rst         (rst[0]),
      .base_i,
      .slot_bytes_i,
      .slots_i,
      .restart_i   (!armed_i),
      .free_o      (free),
      .address_o   (address),
      .take_i      (taken),
      .info_i      (s_axis_pixel_tuser),
      .kind_index_i(kind_index),
      .done_i      (done),
      .failed_i    (failed),
      .m_axis_frame_tdata,
      .m_axis_frame_tvalid,
      .m_axis_frame_tready,
      .release_i,
      .idle_o      (ring_idle)
  );

  assign bad_o = done && failed;

endmodule
