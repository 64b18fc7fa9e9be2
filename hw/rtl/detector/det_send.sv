// Makes messages of what is done: one WRITE a packet, and of a frame that is over one with its mask and one with its trailer. Each has
// its payload: pixels from the queue, holes for a packet that was not whole, or what det_end lays out.
// A message is on offer in the cycle in which its item is.
module det_send
  import det_pkg::*;
  import roce_pkg::message_t;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned PacketBytes = 8192,
    parameter int unsigned ModuleBytes = 1048576,
    parameter int unsigned Ahead       = 8,        // messages ahead of their payload

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input target_t target_i,

    input  item_t s_axis_item_tdata,
    input  end_t  s_axis_item_tuser,
    input  logic  s_axis_item_tvalid,
    output logic  s_axis_item_tready,

    input  logic [DataW-1:0] s_axis_pixel_tdata,
    input  logic [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic             s_axis_pixel_tlast,
    input  logic             s_axis_pixel_tuser,   // with tlast: the packet was not whole
    input  logic             s_axis_pixel_tvalid,
    output logic             s_axis_pixel_tready,

    output message_t             m_axis_msg_tdata,
    output logic                 m_axis_msg_tvalid,
    input  logic                 m_axis_msg_tready,
    output logic     [DataW-1:0] m_axis_payload_tdata,
    output logic     [KeepW-1:0] m_axis_payload_tkeep,
    output logic                 m_axis_payload_tlast,
    output logic                 m_axis_payload_tuser,
    output logic                 m_axis_payload_tvalid,
    input  logic                 m_axis_payload_tready
);

  localparam int unsigned BEATS = PacketBytes / KeepW;
  localparam int unsigned COUNT_W = BEATS > 1 ? $clog2(BEATS) : 1;
  localparam int unsigned RECORD_BYTES = 64;

  // Sources of payload, as axis_select numbers them
  localparam int unsigned FROM_QUEUE = 0;
  localparam int unsigned FROM_HOLES = 1;
  localparam int unsigned FROM_MASK = 2;
  localparam int unsigned FROM_TRAILER = 3;
  localparam int unsigned SOURCES = 4;

  typedef struct packed {
    logic       drop;
    logic [1:0] source;
  } choice_t;

  typedef enum logic [1:0] {
    ITEM,    // pixels, holes, or what is dropped: a message with the item
    LOOK,    // a frame is over: where its mask and its trailer go
    MASK,
    TRAILER
  } state_e;

  state_e state_q, state_d;
  choice_t choice, chosen;
  logic offers, choice_ready, chosen_valid, chosen_ready, end_ready, select_ready;
  logic [63:0] record_q;
  logic [31:0] offset_q, other_q;
  logic [7:0] source;
  logic pushes;

  assign source = target_i.first_source + s_axis_item_tuser.module_number;

  always_comb begin
    state_d = state_q;
    choice = '{drop: 1'b0, source: 2'(FROM_QUEUE)};
    offers = 1'b0;  // a message
    pushes = 1'b0;
    s_axis_item_tready = 1'b0;
    m_axis_msg_tdata = '0;
    m_axis_msg_tdata.qp = target_i.qp;
    m_axis_msg_tdata.imm = {source, s_axis_item_tuser.frame_number[23:0]};
    m_axis_msg_tdata.length = 32'(PacketBytes);
    m_axis_msg_tdata.address = s_axis_item_tdata.address;
    unique case (state_q)
      ITEM: begin
        choice.drop = s_axis_item_tdata.kind == ITEM_DROP;
        if (s_axis_item_tdata.kind == ITEM_HOLES) choice.source = 2'(FROM_HOLES);
        if (s_axis_item_tvalid && s_axis_item_tdata.kind == ITEM_END) begin
          if (end_ready) state_d = LOOK;
        end else begin
          offers = s_axis_item_tvalid && !choice.drop && choice_ready;
          pushes = s_axis_item_tvalid && choice_ready && (choice.drop || m_axis_msg_tready);
          s_axis_item_tready = pushes;
        end
      end
      LOOK: state_d = MASK;
      default: begin
        choice.source = state_q == MASK ? 2'(FROM_MASK) : 2'(FROM_TRAILER);
        offers = choice_ready;
        pushes = choice_ready && m_axis_msg_tready;
        m_axis_msg_tdata.imm_valid = state_q == TRAILER;
        m_axis_msg_tdata.length = 32'(RECORD_BYTES);
        m_axis_msg_tdata.address = record_q;
        if (pushes) state_d = state_q == MASK ? TRAILER : ITEM;
        s_axis_item_tready = pushes && state_q == TRAILER;
      end
    endcase
  end

  assign m_axis_msg_tvalid = offers;

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (state_q == ITEM) begin
      offset_q <= target_i.mask_offset + {18'd0, s_axis_item_tuser.module_number, 6'd0};
      other_q  <= target_i.trailer_offset - target_i.mask_offset;
    end
    if (state_q == LOOK) record_q <= s_axis_item_tdata.address + 64'(offset_q);
    if (state_q == MASK && pushes) record_q <= record_q + {{32{other_q[31]}}, other_q};
    if (rst) state_q <= ITEM;
  end

  axis_fifo #(
      .DataW($bits(choice_t)),
      .Depth(Ahead)
  ) u_choices (
      .clk,
      .rst,
      .s_axis_tdata (choice),
      .s_axis_tvalid(pushes),
      .s_axis_tready(choice_ready),
      .m_axis_tdata (chosen),
      .m_axis_tvalid(chosen_valid),
      .m_axis_tready(chosen_ready)
  );

  // Payload
  logic [SOURCES-1:0][DataW-1:0] source_tdata;
  logic [SOURCES-1:0][KeepW-1:0] source_tkeep;
  logic [SOURCES-1:0] source_tlast, source_tuser, source_tvalid, source_tready;
  logic [COUNT_W-1:0] hole_q;
  logic drops;

  assign drops = chosen_valid && chosen.drop;
  assign s_axis_pixel_tready = drops || source_tready[FROM_QUEUE];
  assign chosen_ready = drops ? s_axis_pixel_tvalid && s_axis_pixel_tlast : select_ready;

  assign source_tdata[FROM_QUEUE] = s_axis_pixel_tdata;
  assign source_tkeep[FROM_QUEUE] = s_axis_pixel_tkeep;
  assign source_tlast[FROM_QUEUE] = s_axis_pixel_tlast;
  assign source_tuser[FROM_QUEUE] = s_axis_pixel_tuser;
  assign source_tvalid[FROM_QUEUE] = s_axis_pixel_tvalid && !drops;

  assign source_tdata[FROM_HOLES] = {DataW / 16{16'h8000}};
  assign source_tkeep[FROM_HOLES] = '1;
  assign source_tlast[FROM_HOLES] = hole_q == COUNT_W'(BEATS - 1);
  assign source_tuser[FROM_HOLES] = 1'b0;
  assign source_tvalid[FROM_HOLES] = 1'b1;
  assign {source_tuser[FROM_MASK], source_tuser[FROM_TRAILER]} = '0;

  always_ff @(posedge clk) begin
    if (source_tready[FROM_HOLES]) hole_q <= source_tlast[FROM_HOLES] ? '0 : hole_q + 1'b1;
    if (rst) hole_q <= '0;
  end

  det_end #(
      .DataW      (DataW),
      .ModuleBytes(ModuleBytes)
  ) u_end (
      .clk,
      .rst,
      .first_source_i       (target_i.first_source),
      .s_axis_end_tdata     (s_axis_item_tuser),
      .s_axis_end_tvalid    (state_q == ITEM && s_axis_item_tvalid && s_axis_item_tdata.kind == ITEM_END),
      .s_axis_end_tready    (end_ready),
      .m_axis_mask_tdata    (source_tdata[FROM_MASK]),
      .m_axis_mask_tkeep    (source_tkeep[FROM_MASK]),
      .m_axis_mask_tlast    (source_tlast[FROM_MASK]),
      .m_axis_mask_tvalid   (source_tvalid[FROM_MASK]),
      .m_axis_mask_tready   (source_tready[FROM_MASK]),
      .m_axis_trailer_tdata (source_tdata[FROM_TRAILER]),
      .m_axis_trailer_tkeep (source_tkeep[FROM_TRAILER]),
      .m_axis_trailer_tlast (source_tlast[FROM_TRAILER]),
      .m_axis_trailer_tvalid(source_tvalid[FROM_TRAILER]),
      .m_axis_trailer_tready(source_tready[FROM_TRAILER])
  );

  axis_select #(
      .DataW  (DataW),
      .Sources(SOURCES)
  ) u_select (
      .clk,
      .rst,
      .s_axis_sel_tdata (chosen.source),
      .s_axis_sel_tvalid(chosen_valid && !chosen.drop),
      .s_axis_sel_tready(select_ready),
      .s_axis_tdata     (source_tdata),
      .s_axis_tkeep     (source_tkeep),
      .s_axis_tlast     (source_tlast),
      .s_axis_tuser     (source_tuser),
      .s_axis_tvalid    (source_tvalid),
      .s_axis_tready    (source_tready),
      .m_axis_tdata     (m_axis_payload_tdata),
      .m_axis_tkeep     (m_axis_payload_tkeep),
      .m_axis_tlast     (m_axis_payload_tlast),
      .m_axis_tuser     (m_axis_payload_tuser),
      .m_axis_tvalid    (m_axis_payload_tvalid),
      .m_axis_tready    (m_axis_payload_tready)
  );

  logic unused;
  assign unused = ^target_i;

endmodule
