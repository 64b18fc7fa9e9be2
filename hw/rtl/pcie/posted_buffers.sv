// Packets of a source that knows no ring go into buffers that software posts, in sequence: packet k of those that fit into buffer k of a ring of
// equal buffers, which are bytes of the engine's pages. Software posts by a growing number, its doorbell. At the end of each buffer is a trailer with
// the packet's number and length, of which the engine makes an event. A packet without a buffer, or too long for it, is dropped and counted, so is
// one for which there is no room here, or that its source calls wrong; none waits. A packet of n beats takes n + 6 cycles, and the beats of its
// trailer. While closed, packets pass by uncounted, and one that is coming in is taken back: so a reset leaves no half packet.
//
//   packets -> length -> queue of whole packets -> descriptors, payload -> pcie_engine
module posted_buffers
  import framelane_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Depth = 512,  // beats of packets that wait
    parameter int unsigned Packets = 64,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,
    input logic port_rst, // of the port of packets, where one may be half way; what comes next begins a packet
    input logic open_i,   // 0 before a reset

    // Software. Bytes are those of the engine's ring; 2^log2 each
    input  logic [ 7:0] source_i,      // id in the trailer
    input  logic [63:0] base_i,        // a multiple of all buffers' bytes
    input  logic [ 4:0] size_log2_i,   // of a buffer: 7 to 16
    input  logic [ 4:0] count_log2_i,  // of how many buffers: 0 to 16
    input  logic [31:0] posted_i,      // buffers that have been posted, modulo 2^32
    output logic [31:0] used_o,        // and used

    // Packets, which cannot wait, of any length
    input logic [DataW-1:0] s_axis_packet_tdata,
    input logic [KeepW-1:0] s_axis_packet_tkeep,
    input logic             s_axis_packet_tlast,
    input logic             s_axis_packet_tuser,   // with tlast: it is wrong, and dropped
    input logic             s_axis_packet_tvalid,
    input logic [     63:0] timestamp_ns_i,

    output bd_t  m_axis_bd_tdata,
    output logic m_axis_bd_tvalid,
    input  logic m_axis_bd_tready,

    output logic [DataW-1:0] m_axis_payload_tdata,
    output logic [KeepW-1:0] m_axis_payload_tkeep,
    output logic             m_axis_payload_tlast,
    output logic             m_axis_payload_tuser,
    output logic             m_axis_payload_tvalid,
    input  logic             m_axis_payload_tready,

    // Pulses, of one packet each
    output logic taken_o,     // it has a buffer
    output logic lost_o,      // there was no room for it here
    output logic unposted_o,  // no buffer was posted
    output logic too_long_o,  // for its buffer
    output logic wrong_o,     // by its source, or it has no bytes, or was taken back

    output logic idle_o
);

  localparam int unsigned TRAILER_BYTES = 64;
  localparam int unsigned LENGTH_W = 17;
  localparam int unsigned DROPPED_W = 32;

  typedef logic [LENGTH_W-1:0] length_t;
  typedef logic [$clog2(KeepW):0] count_t;

  // What a packet is known by when it is whole. A length of 2^16 or more has its highest bit, and is no sum.
  typedef struct packed {
    logic [63:0] timestamp_ns;
    length_t     length;
  } known_t;

  typedef enum logic [2:0] {
    IDLE,     // until a packet is whole
    DROP,     // it has no buffer
    WRITE,    // its descriptor
    PAYLOAD,  // its bytes
    END,      // the descriptor of the trailer
    TRAILER   // its bytes
  } state_e;

  // Length: how many bytes a beat has, then their sum.
  logic [DataW-1:0] data_q;
  logic [KeepW-1:0] keep_q;
  logic last_q, wrong_q, valid_q;
  count_t count, count_q;
  length_t sum_q, sum;
  logic [63:0] timestamp_q;

  // The port: which beats are taken.
  logic inside_q, taken_q, takes, cuts, wrong;

  assign takes = inside_q ? taken_q : open_i;
  assign cuts = inside_q && taken_q && !open_i;

  always_ff @(posedge clk) begin
    if (s_axis_packet_tvalid) inside_q <= !s_axis_packet_tlast;
    if (s_axis_packet_tvalid) taken_q <= takes;
    if (cuts || rst) taken_q <= 1'b0;
    if (port_rst) inside_q <= 1'b0;
  end

  // Bytes of a beat: where tkeep ends.
  always_comb begin
    count = '0;
    for (int unsigned k = 0; k < KeepW; k++) begin
      if (s_axis_packet_tkeep[k] && (k == KeepW - 1 || !s_axis_packet_tkeep[(k+1)%KeepW])) count |= count_t'(k + 1);
    end
  end

  assign sum = (sum_q + length_t'(count_q)) | {sum_q[LENGTH_W-1], (LENGTH_W - 1)'(0)};
  assign wrong = wrong_q || sum == '0;

  always_ff @(posedge clk) begin
    data_q <= s_axis_packet_tdata;
    keep_q <= s_axis_packet_tkeep;
    last_q <= s_axis_packet_tlast || cuts;
    wrong_q <= s_axis_packet_tuser || cuts;
    valid_q <= (s_axis_packet_tvalid && takes) || cuts;
    count_q <= count;
    timestamp_q <= timestamp_ns_i;
    if (valid_q) sum_q <= last_q ? '0 : sum;
    if (rst) begin
      valid_q <= 1'b0;
      sum_q <= '0;
    end
  end

  logic [DataW-1:0] packet_tdata;
  logic [KeepW-1:0] packet_tkeep;
  logic packet_tlast, packet_tvalid, packet_tready;
  known_t known;
  logic [$bits(known_t)-1:0] known_bits;

  axis_frame_fifo #(
      .DataW (DataW),
      .UserW ($bits(known_t)),
      .Depth (Depth),
      .Frames(Packets)
  ) u_packets (
      .clk,
      .rst,
      .s_axis_tdata (data_q),
      .s_axis_tkeep (keep_q),
      .s_axis_tlast (last_q),
      .s_axis_tuser ({timestamp_q, sum}),
      .s_axis_tvalid(valid_q),
      .drop_i       (wrong),
      .m_axis_tdata (packet_tdata),
      .m_axis_tkeep (packet_tkeep),
      .m_axis_tlast (packet_tlast),
      .m_axis_tuser (known_bits),
      .m_axis_tvalid(packet_tvalid),
      .m_axis_tready(packet_tready),
      .lost_o
  );

  assign known = known_bits;

  // Where the packet goes.
  state_e state_q, state_d;
  logic [31:0] used_q;
  logic [63:0] at_q;
  logic [15:0] index_q;
  logic [31:0] within_q;
  logic [15:0] mask_q;
  logic [16:0] room_q;
  length_t length_q;
  logic [63:0] packet_timestamp_q;
  logic select_tvalid, select_tready, given_q;  // the trailer is given to its block
  logic [1:0] payload_tready;
  logic [1:0] settling_q;
  logic posted_q, settled_q, fits, unposted, begins, bd_tvalid, bd_tready, bd_last;
  logic trailer_tvalid, trailer_tready, trailer_beat_tlast, trailer_beat_tvalid, trailer_beat_tready;
  logic [DataW-1:0] trailer_beat_tdata;
  logic [KeepW-1:0] trailer_beat_tkeep;
  bd_t bd;
  trailer_t trailer;

  assign fits = known.length <= room_q;
  assign unposted = !posted_q;
  assign begins = state_q == IDLE && packet_tvalid && settled_q;
  assign unposted_o = begins && unposted;
  assign too_long_o = begins && !unposted && !fits;

  assign taken_o = begins && !unposted && fits;
  assign idle_o = !(inside_q && taken_q) && !valid_q && !packet_tvalid && state_q == IDLE &&
      !m_axis_bd_tvalid && !m_axis_payload_tvalid;

  // What was dropped is told in the trailers.
  logic [DROPPED_W-1:0] dropped_q;
  logic [1:0] drops_q;

  always_ff @(posedge clk) begin
    wrong_o <= valid_q && last_q && wrong;
    drops_q <= 2'(lost_o) + 2'(unposted_o || too_long_o) + 2'(wrong_o);
    dropped_q <= dropped_q + DROPPED_W'(drops_q);
    if (rst) begin
      wrong_o <= 1'b0;
      drops_q <= '0;
      dropped_q <= '0;
    end
  end

  // Its place is known three cycles behind the packet before.
  always_ff @(posedge clk) begin
    mask_q <= ~(~16'd0 << count_log2_i);
    index_q <= used_q[15:0] & mask_q;
    within_q <= 32'(index_q) << size_log2_i;
    at_q <= base_i | 64'(within_q);
    posted_q <= posted_i != used_q;
    room_q <= (17'd1 << size_log2_i) - 17'(TRAILER_BYTES);
    settling_q <= {settling_q[0], state_q == IDLE};
    settled_q <= state_q == IDLE && settling_q == '1 && !begins;
    if (begins) begin
      length_q <= known.length;
      packet_timestamp_q <= known.timestamp_ns;
    end
    if (state_q == TRAILER && state_d == IDLE) used_q <= used_q + 1'b1;
    if (rst) begin
      used_q <= '0;
      settled_q <= 1'b0;
    end
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (begins) state_d = unposted || !fits ? DROP : WRITE;
      DROP: if (packet_tvalid && packet_tlast) state_d = IDLE;
      WRITE: if (bd_tready) state_d = PAYLOAD;
      PAYLOAD: if (select_tready) state_d = END;
      END: if (bd_tready) state_d = TRAILER;
      TRAILER: if (select_tready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    given_q <= state_q == TRAILER && (given_q || trailer_tready);
    if (rst) state_q <= IDLE;
  end

  assign bd_last = state_q == END;
  assign bd_tvalid = state_q == WRITE || state_q == END;
  assign trailer_tvalid = state_q == TRAILER && !given_q;

  always_comb begin
    bd = '0;
    bd.last = bd_last;
    bd.destination = bd_last ? at_q | 64'(room_q) : at_q;
    bd.length = bd_last ? 32'(TRAILER_BYTES) : 32'(length_q);
    trailer = '0;
    trailer.source = 16'(source_i);
    trailer.slot = 32'(index_q);
    trailer.frame_number = 64'(used_q);
    trailer.detector_frame = 64'(used_q);
    trailer.timestamp_ns = packet_timestamp_q;
    trailer.payload_bytes = 32'(length_q);
    trailer.packets = 32'd1;
    trailer.frames_dropped = 64'(dropped_q);
  end

  axis_reg #(
      .DataW($bits(bd_t))
  ) u_bd (
      .clk,
      .rst,
      .s_axis_tdata (bd),
      .s_axis_tvalid(bd_tvalid),
      .s_axis_tready(bd_tready),
      .m_axis_tdata (m_axis_bd_tdata),
      .m_axis_tvalid(m_axis_bd_tvalid),
      .m_axis_tready(m_axis_bd_tready)
  );

  trailer #(
      .DataW(DataW)
  ) u_trailer (
      .clk,
      .rst,
      .s_axis_trailer_tdata (trailer),
      .s_axis_trailer_tvalid(trailer_tvalid),
      .s_axis_trailer_tready(trailer_tready),
      .m_axis_tdata         (trailer_beat_tdata),
      .m_axis_tkeep         (trailer_beat_tkeep),
      .m_axis_tlast         (trailer_beat_tlast),
      .m_axis_tvalid        (trailer_beat_tvalid),
      .m_axis_tready        (trailer_beat_tready)
  );

  // Payload: the packet's, then its trailer's.
  assign select_tvalid = state_q == PAYLOAD || state_q == TRAILER;
  assign packet_tready = state_q == DROP || payload_tready[0];
  assign trailer_beat_tready = payload_tready[1];

  axis_select #(
      .DataW  (DataW),
      .Sources(2)
  ) u_select (
      .clk,
      .rst,
      .s_axis_sel_tdata (state_q == TRAILER),
      .s_axis_sel_tvalid(select_tvalid),
      .s_axis_sel_tready(select_tready),
      .s_axis_tdata     ({trailer_beat_tdata, packet_tdata}),
      .s_axis_tkeep     ({trailer_beat_tkeep, packet_tkeep}),
      .s_axis_tlast     ({trailer_beat_tlast, packet_tlast}),
      .s_axis_tuser     (2'b00),
      .s_axis_tvalid    ({trailer_beat_tvalid, packet_tvalid}),
      .s_axis_tready    (payload_tready),
      .m_axis_tdata     (m_axis_payload_tdata),
      .m_axis_tkeep     (m_axis_payload_tkeep),
      .m_axis_tlast     (m_axis_payload_tlast),
      .m_axis_tuser     (m_axis_payload_tuser),
      .m_axis_tvalid    (m_axis_payload_tvalid),
      .m_axis_tready    (m_axis_payload_tready)
  );

  assign used_o = used_q;

endmodule
